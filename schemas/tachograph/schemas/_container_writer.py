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
    OBJECT_ID,
    SCHEMAS_KEY,
    SYNC_BYTES,
    known_schemas_json,
)
from tachograph.schemas._registry import entry_of


class _Writer(Protocol):
    """What is used of fastavro's container writer, which has no types of its own."""

    def write(self, record: Mapping[str, object]) -> None: ...

    def dump(self) -> None: ...


def write_container(
    file: IO[bytes],
    payloads: Iterable[bytes],
    manifest: Mapping[str, str],
    objects: Iterable[tuple[bytes, bytes]] = (),
) -> int:
    """Write events in the given order, and how many there were is the result.

    The same events and manifest make the same bytes. The last block is empty: a file without it was cut short.

    Args:
        file: open for writing at its start.
        payloads: events as they lie in the log.
        manifest: what the reader shall know, under names of the caller's choice.
        objects: key and bytes of what the events' bodies name, so that the file stands alone.

    Raises:
        UnsupportedSchema: an event's schema is not known to this release.
        OSError: of `file`.
    """
    writer = _open(file, manifest)
    _write(writer, ((OBJECT_ID, key + data) for key, data in objects))
    events = _write(writer, ((_schema_id(payload), payload) for payload in payloads))
    writer.dump()
    return events


def _schema_id(payload: bytes) -> int:
    return entry_of(int.from_bytes(payload[1:5], "big")).id


def _write(writer: _Writer, frames: Iterable[tuple[int, bytes]]) -> int:
    """Write frames in blocks; how many there were."""
    written = block_frames = block_bytes = 0
    for schema_id, payload in frames:
        writer.write({"schema_id": schema_id, "payload": payload})
        written += 1
        block_frames += 1
        block_bytes += len(payload)
        if block_frames == BLOCK_EVENTS or block_bytes >= BLOCK_BYTES:
            writer.dump()
            block_frames = block_bytes = 0
    if block_frames:
        writer.dump()
    return written


def _open(file: IO[bytes], manifest: Mapping[str, str]) -> _Writer:
    from fastavro.write import Writer

    metadata = {MANIFEST_PREFIX + name: manifest[name] for name in sorted(manifest)}
    metadata[SCHEMAS_KEY] = known_schemas_json()
    # Random in general; nothing needs that here: sizes are explicit, and equal bundles should be equal bytes.
    sync = hashlib.sha256(repr(metadata).encode()).digest()[:SYNC_BYTES]
    never = 1 << 62
    made = Writer(file, FRAME_SCHEMA, "deflate", sync_interval=never, metadata=metadata, sync_marker=sync)
    return cast("_Writer", made)
