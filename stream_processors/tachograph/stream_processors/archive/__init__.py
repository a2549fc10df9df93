"""The archive: carries the log into segments in S3 and recounts every stream on the way.

`run_archive` reads, `_screen` looks at records, `_gather` counts and holds them, `_processor` stores them and only then
commits; `_state` keeps the auditor's counts.
"""

from tachograph.stream_processors.archive._run import run_archive
from tachograph.stream_processors.archive._settings import ArchiveSettings

__all__ = ["ArchiveSettings", "run_archive"]
