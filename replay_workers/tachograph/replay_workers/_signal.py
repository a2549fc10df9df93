"""What a replayed call waits on: the schedule says when those who wait hear of it, down to the place in the turn."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from contextvars import Context
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tachograph.replay_workers._schedule import Schedule


class Signal:
    """Like a future without a value; asyncio's tasks accept whatever behaves like one.

    Control logic often cancels several tasks in the order of a set. In the recording that order followed from addresses;
    here those that it cancels in one turn are woken in the order in which their calls ended in the recording.
    """

    __slots__ = (
        "_asyncio_future_blocking", "_callbacks", "_cancelled", "_deaf", "_done", "_loop", "_message", "_schedule",  "index",
    )  # fmt: skip

    def __init__(self, schedule: Schedule, index: int, *, deaf: bool = False) -> None:
        self.index = index
        """Of what is waited for, in the unit's order; negative where that is not yet over with it."""
        self._asyncio_future_blocking = False
        self._deaf = deaf
        self._schedule = schedule
        self._loop = asyncio.get_running_loop()
        self._callbacks: list[tuple[Callable[[Signal], object], Context | None]] = []
        self._message: object = None
        self._cancelled = False
        self._done = False

    def __await__(self) -> Generator[Signal, None, None]:
        if not self._done:
            self._asyncio_future_blocking = True
            yield self
        self.result()

    def get_loop(self) -> asyncio.AbstractEventLoop:
        """The loop it belongs to."""
        return self._loop

    def add_done_callback(self, fn: Callable[[Signal], object], *, context: Context | None = None) -> None:
        """Call a function once those who wait are told."""
        self._callbacks.append((fn, context))

    def remove_done_callback(self, fn: Callable[[Signal], object]) -> int:
        """The inverse of `add_done_callback`."""
        before = len(self._callbacks)
        self._callbacks = [entry for entry in self._callbacks if entry[0] != fn]
        return before - len(self._callbacks)

    def done(self) -> bool:
        """Whether it was given or cancelled."""
        return self._done

    def cancelled(self) -> bool:
        """Whether it was cancelled."""
        return self._cancelled

    def cancel(self, msg: object = None) -> bool:
        """Cancel it; False if it was given already, or will be: the task that waits then hears of it with that."""
        if self._done or (self._deaf and not self._schedule.closed):
            return False
        self._done = self._cancelled = True
        self._message = msg
        self._schedule.cancelled(self)
        return True

    def result(self) -> None:
        """Raises `CancelledError` if it was cancelled."""
        if self._cancelled:
            raise asyncio.CancelledError(*(() if self._message is None else (self._message,)))
        if not self._done:
            raise asyncio.InvalidStateError("the signal was not given yet")

    def give(self) -> bool:
        """Mark it as given; False if it was already, or was cancelled."""
        given = not self._done
        self._done = True
        return given

    def wake(self) -> None:
        """Tell those who wait: here and now where their loop is between two tasks, else as soon as it is.

        asyncio forbids entering a task while another one runs, and whoever lets things happen may be control logic, or a loop
        in another thread.
        """
        loop = self._loop
        if _is_running(loop) and asyncio.current_task(loop) is None:
            self._tell()
        else:
            self.wake_soon()

    def wake_soon(self) -> None:
        """Tell those who wait in their loop's next turn; from any thread."""
        loop = self._loop
        if _is_running(loop):
            loop.call_soon(self.wake)
        elif not loop.is_closed():
            loop.call_soon_threadsafe(self.wake)

    def _tell(self) -> None:
        callbacks, self._callbacks = self._callbacks, []
        for function, context in callbacks:
            if context is not None:
                context.run(function, self)
            else:
                function(self)


def _is_running(loop: asyncio.AbstractEventLoop) -> bool:
    """Whether a loop runs in this thread."""
    return asyncio._get_running_loop() is loop  # noqa: SLF001 asyncio's documentation names it for loops
