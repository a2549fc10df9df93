"""Python's collector, kept from looking through evidence while it is read: nothing in it refers back to what holds it."""

from __future__ import annotations

import gc
import threading
from collections.abc import Generator
from contextlib import contextmanager

_lock = threading.Lock()
_paused = 0
_was_enabled = False


@contextmanager
def collector_paused() -> Generator[None]:
    """No cycles are collected within this, in any thread. A run of 10,000 calls would be looked through a hundred times."""
    global _paused, _was_enabled  # noqa: PLW0603 there is one collector, and several runs may be read at once
    with _lock:
        if _paused == 0:
            _was_enabled = gc.isenabled()
            gc.disable()
        _paused += 1
    try:
        yield
    finally:
        with _lock:
            _paused -= 1
            if _paused == 0 and _was_enabled:
                _pass_over()
                gc.enable()


def _pass_over() -> None:
    """Leave what was made meanwhile to a collection of everything: the next one of young objects would look through it all."""
    if gc.get_freeze_count() == 0:  # else somebody keeps something frozen, which is theirs
        gc.freeze()
        gc.unfreeze()
