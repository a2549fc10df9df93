"""The fold: consumes events into the states of their runs, stores snapshots, and tells what it finds.

`FoldStep` (`_step`) is the fold of one partition without any I/O: records go in, checkpoints (`_checkpoints`, `_values`)
come out. `_loaded` is a run in memory, `_held` are events that came too early, `FoldLimits` (`_limits`) bounds all of it.
`run_fold` (`_run`, `_processor`) is the same on Kafka and S3.
"""

from tachograph.stream_processors.fold._limits import FoldLimits
from tachograph.stream_processors.fold._run import run_fold
from tachograph.stream_processors.fold._settings import FoldSettings
from tachograph.stream_processors.fold._step import FoldStep
from tachograph.stream_processors.fold._values import (
    Book,
    Checkpoint,
    FoldStatistics,
    Open,
    Past,
    Poison,
    book_bytes,
    book_of,
)

__all__ = [
    "Book",
    "Checkpoint",
    "FoldLimits",
    "FoldSettings",
    "FoldStatistics",
    "FoldStep",
    "Open",
    "Past",
    "Poison",
    "book_bytes",
    "book_of",
    "run_fold",
]
