"""The archive: what all machines have recorded, in segments in S3.

`write_segment` stores events of one tenant, grouped by run, behind an index of run to blocks. `ArchiveLog` reads runs
from them, `UnionLog` from them and the local spools. `ArchiveCatalogue` folds what it reads
into rows, `SnapshotStore` keeps folded states.
"""

from tachograph.stores.archive._catalogue import ArchiveCatalogue
from tachograph.stores.archive._compact import compact_run
from tachograph.stores.archive._index import SegmentIndex
from tachograph.stores.archive._log import ArchiveLog
from tachograph.stores.archive._page_cache import LinePlace, Page, RunPages
from tachograph.stores.archive._pages import BEGINNINGS, mark_of
from tachograph.stores.archive._snapshots import SnapshotPointer, SnapshotStore
from tachograph.stores.archive._union import UnionLog
from tachograph.stores.archive._write import SegmentRecord, StoredSegment, segments_prefix, write_segment

__all__ = [
    "BEGINNINGS",
    "ArchiveCatalogue",
    "ArchiveLog",
    "LinePlace",
    "Page",
    "RunPages",
    "SegmentIndex",
    "SegmentRecord",
    "SnapshotPointer",
    "SnapshotStore",
    "StoredSegment",
    "UnionLog",
    "compact_run",
    "mark_of",
    "segments_prefix",
    "write_segment",
]
