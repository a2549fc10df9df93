"""Writing a segment: one tenant's events of a span of one partition, grouped by run."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from tachograph.stores.archive._avro import blocks_of, header_of, sync_of
from tachograph.stores.archive._index import RunSpan, SegmentIndex, index_bytes
from tachograph.stores.archive._pages import pages_bytes
from tachograph.stores.s3 import Bucket, S3Unreachable, name_part

_OFFSET_DIGITS = 20
"""As many as any offset of 64 bits has, so that names sort as offsets do."""


class SegmentRecord(NamedTuple):
    """A record of the log; records sort as events lie in a segment: by run, then in causal order."""

    run_id: str
    hlc: int
    agent_id: str
    incarnation: int
    seq: int
    offset: int
    """In the partition."""
    payload: bytes


@dataclass(frozen=True, slots=True)
class StoredSegment:
    """A segment that is stored and verified."""

    name: str
    """In the bucket."""
    tenant: str
    topic: str
    partition: int
    first_offset: int
    last_offset: int
    runs: int
    events: int
    size: int
    """Bytes."""


def segments_prefix(tenant: str, topic: str = "", partition: int | None = None) -> str:
    """What the names of a tenant's segments begin with, or those of a topic, or of a partition of it."""
    parts = [name_part(tenant), "segments"]
    parts += [name_part(topic)] if topic else []
    parts += [str(partition)] if partition is not None else []
    return "/".join(parts) + "/"


def write_segment(
    bucket: Bucket,
    tenant: str,
    topic: str,
    partition: int,
    records: Iterable[SegmentRecord],
    *,
    covers: tuple[str, ...] = (),
) -> StoredSegment:
    """Store a segment, read it back, and compare.

    Its name holds the hash of its bytes: writing the same records again changes nothing.

    Args:
        bucket: where to.
        tenant: whose events these are; all of them.
        topic: they come from.
        partition: of the topic.
        records: at least one, in any order.
        covers: segments whose events of these runs are all among the records.

    Raises:
        StoreUnavailable: it could not be stored, or what was read back is not what was written.
    """
    index, header, blocks = _laid_out(SegmentIndex(tenant, topic, partition, 0, 0, (), (), covers), records)
    data = b"".join((header, *blocks))
    digest = hashlib.sha256(data).hexdigest()[:16]
    span = f"{index.first_offset:0{_OFFSET_DIGITS}}-{index.last_offset:0{_OFFSET_DIGITS}}"
    name = f"{segments_prefix(tenant, topic, partition)}{span}-{digest}.avro"
    if not bucket.put_new(name, data) and bucket.get(name) != data:
        bucket.mend(name, data)
    if bucket.get(name) != data:
        raise S3Unreachable(bucket.endpoint, f"what was read back of {name!r} is not what was written")
    return StoredSegment(
        name, tenant, topic, partition, index.first_offset, index.last_offset,
        len(index.runs), sum(run.events for run in index.runs), len(data),
    )  # fmt: skip


def _laid_out(about: SegmentIndex, records: Iterable[SegmentRecord]) -> tuple[SegmentIndex, bytes, Sequence[bytes]]:
    """Index, header and blocks."""
    ordered = sorted(records)
    assert ordered, "a segment holds at least one event"
    offsets = [record.offset for record in ordered]
    first, last = min(offsets), max(offsets)
    sync = sync_of(repr((about.tenant, about.topic, about.partition, first, last)).encode())
    made = list(blocks_of((record.payload for record in ordered), sync))
    runs = tuple(
        _span(run_id, list(group)) for run_id, group in itertools.groupby(ordered, lambda record: record.run_id)
    )
    blocks = tuple(block for block, _ in made if block.events)
    index = replace(about, first_offset=first, last_offset=last, blocks=blocks, runs=runs)
    manifest = {
        "kind": "segment", "tenant": index.tenant, "topic": index.topic, "partition": str(index.partition)
    }  # fmt: skip
    schema_ids = {int.from_bytes(record.payload[1:5], "big") for record in ordered}
    pages = pages_bytes(list(index.placed(0)), ordered)
    return index, header_of(index_bytes(index), pages, manifest, schema_ids, sync), [data for _, data in made]


def _span(run_id: str, records: Sequence[SegmentRecord]) -> RunSpan:
    return RunSpan(run_id, len(records), records[0].hlc, records[-1].hlc)
