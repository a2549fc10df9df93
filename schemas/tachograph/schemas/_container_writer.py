"""Writes events into an Avro object container file that explains itself: anybody's Avro library can open it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import IO, Protocol, cast

from tachograph.schemas._container import (
    BLOCK_BYTES,
    BLOCK_EVENTS,
    FRAME_SCHEMA,
    MANIFEST_PREFIX,
    SCHEMAS_KEY,
    SYNC_BYTES,
    known_schemas_json,
)
from tachograph.schemas._registry import entry_of


class _Writer(Protocol):
    """What is used of fastavro's container writer, which has no types of its own."""

    def write(self, record: Mapping[str, object]) -> None: ...

    def dump(self) -> None: ...


def write_container(file: IO[bytes], payloads: Iterable[bytes], manifest: Mapping[str, str]) -> int:
    """Write events in the given order, and how many there were is the result.

    The same events and manifest make the same bytes. The last block is empty: a file without it was cut short.

    Args:
        file: open for writing at its start.
        payloads: events as they lie in the log.
        manifest: what the reader shall know, under names of the caller's choice.

    Raises:
        UnsupportedSchema: an event's schema is not known to this release.
        OSError: of `file`.
    """
    writer = _open(file, manifest)
    events = block_events = block_bytes = 0
    for payload in payloads:
        writer.write({"schema_id": entry_of(int.from_bytes(payload[1:5], "big")).id, "payload": payload})
        events += 1
        block_events += 1
        block_bytes += len(payload)
        if block_events == BLOCK_EVENTS or block_bytes >= BLOCK_BYTES:
            writer.dump()
            block_events = block_bytes = 0
    if block_events:
        writer.dump()
    writer.dump()
    return events


def _open(file: IO[bytes], manifest: Mapping[str, str]) -> _Writer:
    from fastavro.write import Writer

    metadata = {MANIFEST_PREFIX + name: manifest[name] for name in sorted(manifest)}
    metadata[SCHEMAS_KEY] = known_schemas_json()
    # Random in general; nothing needs that here: sizes are explicit, and equal bundles should be equal bytes.
    sync = hashlib.sha256(repr(metadata).encode()).digest()[:SYNC_BYTES]
    never = 1 << 62
    made = Writer(file, FRAME_SCHEMA, "deflate", sync_interval=never, metadata=metadata, sync_marker=sync)
    return cast("_Writer", made)
