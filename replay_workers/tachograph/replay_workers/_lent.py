"""Functions that control logic gives to other threads: each has a thread of its own, and runs only while its loop rests.

So the two never run at the same time, and what they do to each other comes out the same in every replay. A function rests,
too, while it waits for something that its loop is to do, as `asyncio.run_coroutine_threadsafe(…).result()` does.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from tachograph.replay_workers._guard_time import Patch
from tachograph.replay_workers._rest import others_rest

_IDLE_SECONDS = 5.0
"""A thread that hardly used the processor for so long waits for something that nobody sees: its loop goes on meanwhile."""


class Lent:
    """A function in a thread of its own.

    Args:
        call: the function.
        name: of the thread.
        woken: called when the function is over, or waits for the loop.
    """

    def __init__(self, call: Callable[[], object], name: str, woken: Callable[[], None]) -> None:
        self.result: object = None
        self.error: BaseException | None = None
        self.done = False
        """Whether the function is over."""
        self._call = call
        self._woken = woken
        self._changed = threading.Condition()
        self._awaited: Future[Any] | None = None
        """What the function waits for, which its loop is to bring."""
        self._idle = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Let it run until it rests."""
        self._thread.start()
        self.rest()

    @property
    def waits_for_loop(self) -> bool:
        """Whether it can go on only when its loop brings something."""
        return self._awaited is not None and not self._awaited.done()

    def rest(self) -> None:
        """Wait until the function is over, or waits for what its loop is to do."""
        with self._changed:
            while not self._is_at_rest():
                self._idle = others_rest(_IDLE_SECONDS, self._comes_to_rest)

    def awaits(self, future: Future[Any]) -> None:
        """The function begins to wait."""
        with self._changed:
            self._awaited, self._idle = future, False
            self._changed.notify_all()
        self._woken()

    def _comes_to_rest(self, seconds: float) -> bool:
        return self._changed.wait_for(self._is_at_rest, seconds)

    def _is_at_rest(self) -> bool:
        return self.done or self._idle or self.waits_for_loop

    def _run(self) -> None:
        _lent.current = self
        try:
            self.result = self._call()
        except BaseException as error:  # noqa: BLE001 whatever it is, it belongs to who awaits it
            self.error = error
        with self._changed:
            self.done = True
            self._changed.notify_all()
        self._woken()


class _Current(threading.local):
    current: Lent | None = None


_lent = _Current()


def lent_patches() -> list[Patch]:
    """What tells a loop that a function in a thread waits for it."""
    return [(Future, name, _telling(getattr(Future, name))) for name in ("result", "exception")]


def _telling(genuine: Callable[..., object]) -> Callable[..., object]:
    def waited(future: Future[Any], timeout: float | None = None) -> object:
        lent = _lent.current
        if lent is not None and not future.done():
            lent.awaits(future)
        return genuine(future, timeout)

    return waited
