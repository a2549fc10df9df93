"""Gathering a run that lies in many segments into one of its own."""

from __future__ import annotations

from typing import Final

from tachograph.core.errors import UnknownRun
from tachograph.stores._address import address_of
from tachograph.stores.archive._log import ArchiveLog
from tachograph.stores.archive._write import SegmentRecord, StoredSegment, write_segment
from tachograph.stores.s3 import Bucket

COMPACTED: Final = "compacted"
"""In place of a topic in the names of such segments. No topic of ours is called so: ours begin with a prefix."""

SEGMENTS_MIN: Final = 2

COMPACT_BYTES_MAX: Final = 256 << 20
"""Of a run's events, which are held in memory; a larger run fills most of its segments alone."""


def compact_run(bucket: Bucket, archive: ArchiveLog, run_id: str) -> StoredSegment | None:
    """Store every event of a run in a segment of its own, from which it is read from then on with one request.

    The segments that it lay in stay as they are: others' events are in them. What comes later is read from where it is
    stored, beside this. Doing it again changes nothing.

    Args:
        bucket: where the archive is.
        archive: of the run's tenant.
        run_id: of a run in which nothing more is expected.

    Returns:
        None where there is nothing to gain: it lies in one segment, or is too large.

    Raises:
        UnknownRun: there is no such run.
        CorruptFrame: a segment is damaged; nothing is stored.
        StoreUnavailable: the archive cannot be reached.
    """
    archive.refresh()
    parts = archive.cache.parts(run_id)
    if not parts:
        raise UnknownRun(run_id, f"the archive {bucket.endpoint}")
    if len(parts) < SEGMENTS_MIN or sum(part.range.size for part in parts) > COMPACT_BYTES_MAX:
        return None
    records = [_record(stored.payload, number) for number, stored in enumerate(archive.read(parts))]
    # The newest hlc in place of an offset: what is compacted later is listed behind what was compacted before.
    start = archive.cache.newest_hlc()
    placed = [record._replace(offset=start + record.offset) for record in records]
    covers = tuple(part.name for part in parts)
    return write_segment(bucket, archive.tenant, COMPACTED, 0, placed, covers=covers)


def _record(payload: bytes, number: int) -> SegmentRecord:
    address = address_of(payload)
    return SegmentRecord(
        address.run_id, address.hlc, address.agent_id, address.incarnation, address.seq, number, payload
    )
