"""An event loop without a world: it never waits, and its time is virtual."""

from __future__ import annotations

import asyncio
import heapq
import threading
from collections import deque
from collections.abc import Callable
from contextvars import Context
from typing import TYPE_CHECKING, Any, TypeVar, TypeVarTuple, Unpack, cast

from tachograph.core.boundary import Outside, control_tape
from tachograph.replay_workers._halt import Halt
from tachograph.replay_workers._lent import Lent
from tachograph.replay_workers._places import StreamKey
from tachograph.replay_workers._rest import others_rest

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from tachograph.replay_workers._schedule import Schedule

Ts = TypeVarTuple("Ts")
T = TypeVar("T")

THREAD_SECONDS = 0.0005
"""Virtual seconds that a function given to another thread takes."""

_THREAD_NAME = "asyncio_0"
_THREADS_WAIT_SECONDS = 5.0
"""Real seconds that an idle loop waits for threads which control logic started itself, as often as these compute."""


class Task(asyncio.Task[Any]):  # whatever its coroutine gives
    """A task whose place in a set follows from when it was made, not from its address."""

    number = 0

    def __hash__(self) -> int:
        return self.number


class Timer(asyncio.TimerHandle):
    """A timer that knows which one of its stream's it is."""

    __slots__ = ("delay", "loop", "number", "stream")

    loop: VirtualLoop
    """The one that it was set on."""
    number: int
    delay: float
    """For how many seconds it was set."""
    stream: StreamKey | None
    """None where it is not control logic's."""


class VirtualLoop(asyncio.BaseEventLoop):
    """A deterministic loop: callbacks run in asyncio's own order, and a schedule decides what happens when none is ready.

    Timers fire only when the schedule says so; `time()` is the schedule's.
    """

    # The private names below are asyncio's; tests/unit/test_engine_loop.py holds every supported Python to them.
    _ready: deque[asyncio.Handle]
    _scheduled: list[asyncio.TimerHandle]
    _stopping: bool
    _closed: bool

    def __init__(self, schedule: Schedule) -> None:
        super().__init__()
        self._schedule = schedule
        self._woken = threading.Event()
        self._tasks_made = 0
        self._timers_set = 0
        self._lent: list[tuple[Lent, asyncio.Future[Any]]] = []
        """Functions in threads, and where their results are awaited."""
        self._turn_time = schedule.now
        """Time stands still within a turn."""
        self.begun = False
        """Whether the unit started on it, or has opened an agent there."""
        self.set_task_factory(_numbered)
        schedule.loops.append(self)

    def close(self) -> None:
        if not self.is_closed():
            self._schedule.loops.remove(self)
        super().close()

    def time(self) -> float:
        return self._turn_time

    @property
    def is_busy(self) -> bool:
        """Whether a callback is ready, or the loop is asked to stop."""
        return bool(self._ready) or self._stopping

    def call_at(
        self,
        when: float,
        callback: Callable[[Unpack[Ts]], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> Timer:
        timer = Timer(when, callback, args, self, context)
        tape = control_tape()
        self._timers_set += 1
        timer.loop = self
        timer.delay = when - self._turn_time
        timer.stream = getattr(tape, "key", None)
        timer.number = tape.set_timer() if tape is not None else self._timers_set
        heapq.heappush(self._scheduled, timer)
        timer._scheduled = True  # type: ignore[attr-defined]
        self._schedule.timer_set(timer)
        return timer

    def call_soon(
        self, callback: Callable[[Unpack[Ts]], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        if self._closed:
            raise RuntimeError("Event loop is closed")
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append(handle)
        return handle

    def timers(self) -> list[Timer]:
        """The pending timers, earliest first."""
        if not self._scheduled:
            return []
        scheduled = cast("list[Timer]", self._scheduled)
        return sorted((timer for timer in scheduled if not timer.cancelled()), key=_moment)

    def unset(self, timer: Timer) -> None:
        """Take a timer out of those that are pending."""
        scheduled = self._scheduled
        if scheduled[0] is timer:
            heapq.heappop(scheduled)
        else:
            scheduled.remove(timer)
            heapq.heapify(scheduled)
        timer._scheduled = False  # type: ignore[attr-defined]

    def make_ready(self, timer: Timer) -> None:
        """Call a timer's function in the turn that begins."""
        self._ready.append(timer)
        if len(self._schedule.loops) > 1:
            self._woken.set()

    def wake(self, callback: Callable[[], object], *, behind: int | None = None) -> None:
        """Make a callback ready for the turn that begins, behind so many others or all of them."""
        handle = asyncio.Handle(callback, (), self, None)
        if behind is None:
            self._ready.append(handle)
        else:
            self._ready.insert(behind, handle)

    def before(self, callback: Callable[[], object]) -> int:
        """How many come before a callback in the turn that begins; all of them where it is not ready."""
        for count, handle in enumerate(self._ready):
            if handle._callback is callback:  # type: ignore[attr-defined]
                return count
        return len(self._ready)

    def wait_for_threads(self) -> bool:
        """Wait until a thread of control logic has given the loop something to do; False if none will."""
        while threading.active_count() - sum(lent.waits_for_loop for lent, _ in self._lent) > 1:
            if others_rest(_THREADS_WAIT_SECONDS, self._woken.wait):
                return False
            if self._woken.is_set():
                self._woken.clear()
                self._take_back()
                return True
        return False

    def new_task(self) -> int:
        """The number of a task that control logic makes."""
        self._tasks_made += 1
        return self._tasks_made

    def run_in_executor(
        self, executor: Executor | None, func: Callable[[Unpack[Ts]], T], *args: *Ts
    ) -> asyncio.Future[T]:
        """Run the function while the loop rests; its result comes a little later."""
        future: asyncio.Future[T] = self.create_future()
        lent = Lent(lambda: func(*args), _THREAD_NAME, self._woken.set)
        self._lent.append((lent, future))
        self._schedule.lent += 1
        lent.start()
        self._take_back()
        return future

    def _take_back(self) -> None:
        """Take the results of functions that are over."""
        for lent, future in [one for one in self._lent if one[0].done]:
            self._lent.remove((lent, future))
            self._schedule.lent -= 1
            if isinstance(lent.error, Halt):
                raise lent.error
            with Outside():
                self.call_later(THREAD_SECONDS, _settle, future, lent.result, lent.error)

    def _run_once(self) -> None:
        self._woken.clear()
        if self._lent:
            for lent, _ in self._lent:
                lent.rest()
            self._take_back()
        self._schedule.turn(self)
        self._turn_time = self._schedule.now
        todo = self._ready
        self._ready = deque()
        try:
            while todo:
                handle = todo.popleft()
                if not handle._cancelled:
                    handle._run()
        finally:
            self._ready.extendleft(reversed(todo))

    def _process_events(self, event_list: object) -> None:
        pass

    def _write_to_self(self) -> None:
        self._woken.set()


class VirtualPolicy(asyncio.DefaultEventLoopPolicy):
    """Gives every part of control logic a virtual loop on the same schedule."""

    def __init__(self, schedule: Schedule) -> None:
        super().__init__()
        self._schedule = schedule

    def new_event_loop(self) -> VirtualLoop:
        return VirtualLoop(self._schedule)


def _numbered(loop: asyncio.AbstractEventLoop, coro: Any, **options: Any) -> Task:  # as asyncio gives them
    assert isinstance(loop, VirtualLoop)
    task = Task(coro, loop=loop, **options)
    task.number = loop.new_task()
    return task


def _moment(timer: Timer) -> tuple[float, int]:
    return timer.when(), timer.number


def _settle(future: asyncio.Future[T], result: object, error: BaseException | None) -> None:
    if future.done():
        return
    if error is not None:
        future.set_exception(error)
    else:
        future.set_result(cast("T", result))
