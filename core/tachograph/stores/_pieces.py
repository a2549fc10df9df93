"""Looking at segments side by side, in as many processes as there are cores."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool

from tachograph.core.canonical import Digester
from tachograph.stores._piece import SegmentPiece, Task, examine
from tachograph.stores._segments import segment_size

PARALLEL_BYTES_MIN = 16 * 1024 * 1024
"""Below this, starting processes costs more than it gains: a tenth of a second against 0.2 s of work."""

_digesters: list[Digester] = []
"""In a worker: the one to use."""


def pieces_of(tasks: Sequence[Task], digester: Digester) -> Iterator[SegmentPiece | None]:
    """The pieces of segments, in the order of the tasks."""
    workers = min(_cores(), len(tasks))
    if workers > 1 and sum(segment_size(task.file) for task in tasks) >= PARALLEL_BYTES_MIN:
        yield from _side_by_side(tasks, digester, workers)
    else:
        for task in tasks:
            yield examine(task, digester)


def _side_by_side(tasks: Sequence[Task], digester: Digester, workers: int) -> Iterator[SegmentPiece | None]:
    done = 0
    context = multiprocessing.get_context("fork")
    try:
        with ProcessPoolExecutor(workers, context, _begin, (digester,)) as pool:
            for piece in pool.map(_examine, tasks):
                yield piece
                done += 1
    except BrokenProcessPool:
        # A worker was killed, for want of memory most likely: alone it may do.
        for task in tasks[done:]:
            yield examine(task, digester)


def _cores() -> int:
    """How many processes may be started; a process with threads must not be forked."""
    return len(os.sched_getaffinity(0)) if threading.active_count() == 1 else 1


def _begin(digester: Digester) -> None:
    _digesters.append(digester)


def _examine(task: Task) -> SegmentPiece | None:
    return examine(task, _digesters[0])
