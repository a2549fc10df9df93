"""Events in an archive, for tests of what reads it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from services import fresh_backend
from tachograph.schemas import decode_meta
from tachograph.stores.archive import SegmentRecord, StoredSegment, write_segment
from tachograph.stores.s3 import Bucket


def fresh_bucket(path: Path) -> Bucket:
    """An empty bucket on the test run's server."""
    settings = fresh_backend(path, "s3").s3
    assert settings is not None
    return Bucket(settings)


def records_of(payloads: Iterable[bytes], first_offset: int = 0) -> list[SegmentRecord]:
    """Payloads as records of a partition."""
    return [record_of(payload, offset) for offset, payload in enumerate(payloads, first_offset)]


def record_of(payload: bytes, offset: int) -> SegmentRecord:
    """A payload as the record at an offset."""
    meta = decode_meta(payload)
    return SegmentRecord(meta.run_id, meta.hlc, meta.agent_id, meta.incarnation, meta.seq, offset, payload)


def archive(
    bucket: Bucket, payloads: Sequence[bytes], *, tenant: str = "acme", partition: int = 0, size: int = 10
) -> list[StoredSegment]:
    """Store payloads in segments of `size` records."""
    records = records_of(payloads)
    return [
        write_segment(bucket, tenant, "tacho.events", partition, records[start : start + size])
        for start in range(0, len(records), size)
    ]
