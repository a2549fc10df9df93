"""Whether the other threads of a process rest, whatever else its machine does."""

from __future__ import annotations

from collections.abc import Callable
from time import process_time, thread_time  # before a guard replaces them: they are no input of control logic

_PARTS = 10
"""The sleep is cut: whoever could go on is given the processor before a thread that has just slept, however busy the
machine is."""

_SHARE = 0.01
"""Of the processor, which threads use that only wait."""


def others_rest(seconds: float, woken: Callable[[float], bool]) -> bool:
    """Sleep, and look what the others do meanwhile.

    Args:
        seconds: for how long, in parts.
        woken: sleeps for some seconds, and says whether that is enough because something has happened.

    Returns:
        Whether nothing has happened, and the others have hardly used the processor.
    """
    before = _used_by_others()
    for _ in range(_PARTS):
        if woken(seconds / _PARTS):
            return False
    return _used_by_others() - before < _SHARE * seconds


def _used_by_others() -> float:
    return process_time() - thread_time()
