"""An event loop without a world: its selector never waits, its time is virtual."""

from __future__ import annotations

import asyncio
import heapq
import selectors
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, TypeVarTuple, Unpack, cast

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from tachograph.replay_workers._schedule import Schedule

Ts = TypeVarTuple("Ts")
T = TypeVar("T")

THREAD_SECONDS = 0.0005
"""Virtual seconds that a function given to another thread takes."""

_THREADS_WAIT_SECONDS = 5.0
"""Real seconds that an idle loop waits for threads which control logic started itself."""

_NEVER = float("-inf")


class _VirtualSelector(selectors.BaseSelector):
    """Asked once in every turn of the loop; there are no files to wait for."""

    def __init__(self) -> None:
        self.turn: Callable[[], None] = lambda: None

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self.turn()
        return []

    def register(self, fileobj: object, events: int, data: object = None) -> selectors.SelectorKey:
        raise PermissionError("there is no network in a replay; reach the outside through the agent")

    def unregister(self, fileobj: object) -> selectors.SelectorKey:
        raise KeyError(fileobj)

    def modify(self, fileobj: object, events: int, data: object = None) -> selectors.SelectorKey:
        raise KeyError(fileobj)

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:  # the base class's type
        return {}

    def close(self) -> None:
        self.turn = lambda: None


class VirtualLoop(asyncio.SelectorEventLoop):
    """A deterministic loop: callbacks run in asyncio's own order, and a schedule decides what happens when none is ready.

    Timers fire only when the schedule says so; `time()` is the schedule's.
    """

    def __init__(self, schedule: Schedule) -> None:
        self._schedule = schedule
        self._woken = threading.Event()
        self._checking = False
        self._virtual_selector = _VirtualSelector()
        super().__init__(self._virtual_selector)
        self._virtual_selector.turn = self._turn

    # The private names below are BaseEventLoop's; tests/unit/test_engine_loop.py holds every supported Python to them.

    def time(self) -> float:
        if self._checking:  # the loop asks which timers are due; only the schedule fires them
            self._checking = False
            return _NEVER
        return self._schedule.now

    @property
    def is_busy(self) -> bool:
        """Whether a callback is ready, or the loop is asked to stop."""
        return bool(self._ready) or self._stopping  # type: ignore[attr-defined]

    def next_timer(self) -> float | None:
        """When the earliest timer is due; None if there is none."""
        scheduled = cast("list[asyncio.TimerHandle]", self._scheduled)  # type: ignore[attr-defined]
        if scheduled and not scheduled[0].cancelled():
            return scheduled[0].when()
        return min((timer.when() for timer in scheduled if not timer.cancelled()), default=None)

    def timers(self) -> list[asyncio.TimerHandle]:
        """The pending timers, earliest first."""
        scheduled = cast("list[asyncio.TimerHandle]", self._scheduled)  # type: ignore[attr-defined]
        return sorted((timer for timer in scheduled if not timer.cancelled()), key=asyncio.TimerHandle.when)

    def fire(self, timer: asyncio.TimerHandle) -> None:
        """Make a timer's callback ready."""
        scheduled = self._scheduled  # type: ignore[attr-defined]
        if scheduled[0] is timer:
            heapq.heappop(scheduled)
        else:
            scheduled.remove(timer)
            heapq.heapify(scheduled)
        timer._scheduled = False  # type: ignore[attr-defined]
        self._ready.append(timer)  # type: ignore[attr-defined]

    def wait_for_threads(self) -> bool:
        """Wait until a thread of control logic has given the loop something to do; False if none will."""
        return threading.active_count() > 1 and self._woken.wait(_THREADS_WAIT_SECONDS)

    def run_in_executor(
        self, executor: Executor | None, func: Callable[[Unpack[Ts]], T], *args: Unpack[Ts]
    ) -> asyncio.Future[T]:
        """Run the function here and now; its result comes a little later, as from a thread."""
        future: asyncio.Future[T] = self.create_future()
        try:
            result = func(*args)
        except Exception as error:  # noqa: BLE001 whatever it is, it belongs to who awaits it
            self.call_later(THREAD_SECONDS, _settle, future, None, error)
        else:
            self.call_later(THREAD_SECONDS, _settle, future, result, None)
        return future

    def _turn(self) -> None:
        self._woken.clear()
        self._schedule.turn(self)

    def _process_events(self, event_list: object) -> None:
        self._checking = True

    def _make_self_pipe(self) -> None:
        self._ssock = self._csock = None

    def _close_self_pipe(self) -> None:
        pass

    def _write_to_self(self) -> None:
        self._woken.set()


class VirtualPolicy(asyncio.DefaultEventLoopPolicy):
    """Gives every part of control logic a virtual loop on the same schedule."""

    def __init__(self, schedule: Schedule) -> None:
        super().__init__()
        self._schedule = schedule

    def new_event_loop(self) -> asyncio.AbstractEventLoop:
        return VirtualLoop(self._schedule)


def _settle(future: asyncio.Future[T], result: T | None, error: Exception | None) -> None:
    if future.done():
        return
    if error is not None:
        future.set_exception(error)
    else:
        future.set_result(cast("T", result))
