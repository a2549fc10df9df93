"""Whether the other threads of a process rest, whatever else its machine does.

A thread that the machine does not let run is not at rest: what it waits for a processor counts as if it had run, and time in
which the process itself was held up does not count at all.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from time import monotonic, process_time, thread_time  # before a guard replaces them: no input of control logic

_PARTS = 10
"""The sleep is cut: whoever could go on is given the processor before a thread that has just slept."""

_PART_SECONDS_MAX = 0.05
"""A thread that sleeps for longer runs no handlers of signals where the system gives these to another one."""

_STRETCHED = 2
"""A part that took so many times its length says nothing: the process was stopped, or the machine is too busy for it."""

_SHARE = 0.01
"""Of the processor, which threads use that only wait."""

_TASKS = Path("/proc/self/task")
_WAITING_STATES = frozenset(b"SIZX")
"""Of a task of Linux that neither runs, nor could, nor waits for a disk."""


def others_rest(seconds: float, woken: Callable[[float], bool]) -> bool:
    """Sleep, and look what the others do meanwhile.

    Args:
        seconds: for how long, in parts; longer where the process is held up.
        woken: sleeps for some seconds, and says whether that is enough because something has happened.

    Returns:
        Whether nothing has happened, and the others have hardly used or wanted a processor.
    """
    part = min(seconds / _PARTS, _PART_SECONDS_MAX)
    before, rested = _used_by_others(), 0.0
    while rested < seconds:
        began = monotonic()
        if woken(part):
            return False
        took = monotonic() - began
        rested += took
        if took > _STRETCHED * part:
            part *= 2
            before, rested, seconds = _used_by_others(), 0.0, max(seconds, part * _PARTS)
    after = _used_by_others()
    wanted = sum(used - before.get(thread, 0.0) for thread, used in after.items())
    return before.keys() == after.keys() and wanted < _SHARE * rested and not _one_could_go_on()


def _used_by_others() -> Mapping[int, float]:
    """Seconds that each other thread ran, or waited for a processor; together where the system does not tell them apart."""
    found: dict[int, float] = {}
    try:
        for task in _others():
            with suppress(ProcessLookupError, FileNotFoundError):  # it has just ended
                ran, waited, _ = _read(task, "schedstat").split()
                found[task] = (int(ran) + int(waited)) / 1e9
    except OSError:
        return {0: process_time() - thread_time()}
    return found


def _one_could_go_on() -> bool:
    """Whether another thread runs, or would if it were given a processor: that wait is counted only once it is over."""
    try:
        for task in _others():
            with suppress(ProcessLookupError, FileNotFoundError):
                if _read(task, "stat").rpartition(b")")[2].split()[0][0] not in _WAITING_STATES:
                    return True
    except OSError:
        pass
    return False


def _others() -> list[int]:
    own = str(threading.get_native_id())
    return [int(task.name) for task in _TASKS.iterdir() if task.name != own]


def _read(task: int, name: str) -> bytes:
    return (_TASKS / str(task) / name).read_bytes()
