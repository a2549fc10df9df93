"""Looking at segments side by side, in as many processes as there are cores."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool

from tachograph.core.canonical import Digester
from tachograph.core.errors import StoreUnavailable
from tachograph.stores._piece import SegmentPiece, Task, examine
from tachograph.stores._segments import segment_size

PARALLEL_BYTES_MIN = 16 * 1024 * 1024
"""Below this, starting processes costs more than it gains: a tenth of a second against 0.2 s of work."""

_digesters: list[Digester] = []
"""In a worker: the one to use."""


def pieces_of(tasks: Sequence[Task], digester: Digester) -> Iterator[SegmentPiece | None]:
    """The pieces of segments, in the order of the tasks."""
    workers = min(_cores(), len(tasks))
    if workers > 1 and sum(map(_size, tasks)) >= PARALLEL_BYTES_MIN:
        yield from _side_by_side(tasks, digester, workers)
    else:
        for task in tasks:
            yield _look(task, digester)


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
            yield _look(task, digester)


def _cores() -> int:
    """How many processes may be started; a process with threads must not be forked."""
    return len(os.sched_getaffinity(0)) if threading.active_count() == 1 else 1


def _begin(digester: Digester) -> None:
    _digesters.append(digester)


def _examine(task: Task) -> SegmentPiece | None:
    return _look(task, _digesters[0])


def _look(task: Task, digester: Digester) -> SegmentPiece | None:
    """A segment that cannot be read has no piece: whoever looks at it with care says why, and goes on with the others."""
    try:
        return examine(task, digester)
    except StoreUnavailable:
        return None


def _size(task: Task) -> int:
    try:
        return segment_size(task.file)
    except StoreUnavailable:
        return 0
