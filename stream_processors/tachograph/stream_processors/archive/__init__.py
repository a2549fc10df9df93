"""The archive: carries the log into segments in S3 and recounts every stream on the way.

`run_archive` reads, `_screen` looks at records, `_gather` counts and holds them, `_processor` stores them and only then
commits; `_outlet` tells others, `_state` keeps the auditor's counts, `_health` ends the process when nothing moves.
"""

from tachograph.stream_processors.archive._run import StatusAddress, run_archive
from tachograph.stream_processors.archive._settings import ArchiveSettings

__all__ = ["ArchiveSettings", "StatusAddress", "run_archive"]
