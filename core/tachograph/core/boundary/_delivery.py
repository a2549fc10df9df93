"""How a result reaches control logic: count the turns of the event loop that a call takes.

A call that nothing from outside came in for keeps its place among the other tasks by its turns alone, and a replay lets as
many turns pass. A call that waited for the world has its place in the order of what the world brings, and in the turns
between two such happenings where the loop did not run dry. A call that was cancelled comes back because control logic
said so; its place is the turns between the cancellation and its end.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator
from contextvars import Context
from typing import Generic, TypeVar, cast

from tachograph.core.boundary._control import Outside, Waiting
from tachograph.core.boundary._places import (
    CANCELLED,
    CANCELLED_READY,
    CANCELLED_WAITED,
    READY_AFTER,
    READY_WAITED,
    WAITED,
)
from tachograph.core.boundary._turns import LoopTurns, TurnCounter

Result = TypeVar("Result")

_OWN_MAX = 1_000
"""More turns than this were not taken by tasks that wait for nothing but each other."""

_YIELDS_MAX = 400_000
"""More turns than this in one call count as waiting."""


class _Watched:
    """Stands before a task or a group of them that a call waits for, to notice when control logic asks to cancel it.

    A plain future hears of it in the next turn; a task first ends what it waits for itself.
    """

    def __init__(self, inner: asyncio.Future[object], asked: Callable[[bool], None]) -> None:
        self._inner = inner
        self._asked = asked
        # What asyncio's protocol between tasks and futures asks for: this one is awaited now, the inner one is not.
        self._asyncio_future_blocking = True
        inner._asyncio_future_blocking = False

    def add_done_callback(self, fn: Callable[[asyncio.Future[object]], object], *, context: Context) -> None:
        self._inner.add_done_callback(fn, context=context)

    def remove_done_callback(self, fn: Callable[[asyncio.Future[object]], object]) -> int:
        return self._inner.remove_done_callback(fn)

    def cancel(self, msg: object = None) -> bool:
        self._asked(self._inner.done())
        return self._inner.cancel(msg=msg)

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)


def _is_ready(waited_for: object) -> bool:
    """Whether what is waited for was there when the cancellation came: the task was about to go on."""
    if waited_for is None:
        return True
    return asyncio.isfuture(waited_for) and waited_for.done() and not waited_for.cancelled()


class Counted(Waiting, Generic[Result]):
    """Awaits `inner` and counts the turns it takes.

    Args:
        inner: what is awaited.
        turns: the counter of the loop; where that cannot count, bare yields are, and anything else is waiting.
        start: the turn to count from, where the call began before `inner`.
    """

    _asked_at: int | None = None
    _asked_late = False
    """What was waited for was there already when control logic asked to cancel it."""
    _cancelled = 0
    _waited = False
    _yielded = 0

    def __init__(self, inner: Awaitable[Result], turns: TurnCounter, start: int | None = None) -> None:
        self._inner = inner
        self._turns = turns
        loop = turns.loop
        self._loop = loop if loop.exact else None
        now = loop.number
        if start is None or start == now:
            self._start = now
        else:
            self._start = start
            self._waited = True

    def __await__(self) -> Generator[object, object, Result]:
        with Outside(self):
            steps = self._inner.__await__()
            try:
                waited_for = next(steps)
                while True:
                    self._yielded += 1
                    if waited_for is not None:
                        waited_for = self._waiting_for(waited_for)
                    try:
                        sent = yield waited_for
                    except GeneratorExit:
                        steps.close()
                        raise
                    except BaseException as error:  # noqa: BLE001 cancellation and errors belong to the inner awaitable
                        self._thrown(error, ready=_is_ready(waited_for))
                        waited_for = steps.throw(error)
                    else:
                        waited_for = next(steps) if sent is None else steps.send(sent)
            except StopIteration as stop:
                result: Result = stop.value
                return result
            finally:
                if self._yielded or self._waited or self._cancelled:
                    self.yields = self._count()

    def _waiting_for(self, waited_for: object) -> object:
        self._waited = True
        if type(waited_for) is asyncio.Future or not asyncio.isfuture(waited_for):
            return waited_for  # pyright: ignore[reportUnknownVariableType] a future of anything
        return _Watched(cast("asyncio.Future[object]", waited_for), self._asked)

    def _is_from_outside(self, loop: LoopTurns) -> bool:
        """Whether it waited for what came from outside, and its turn can be told from the unit's anchor."""
        return self._waited and max(self.came_in, loop.input) > self._start and self._turns.is_anchored

    def _now(self) -> int:
        return self._turns.loop.number

    def _thrown(self, error: BaseException, *, ready: bool) -> None:
        if not isinstance(error, asyncio.CancelledError) or self._cancelled:
            return
        now = self.heard = self._now()
        heard = now if self._asked_at is None else self._asked_at + 1
        self._cancelled = self._ready_count() if ready or self._asked_late or heard > now else CANCELLED
        self._waited = False
        self._yielded = 0
        self._start = min(heard, now)
        self._asked_at = None

    def _asked(self, late: bool) -> None:
        if self._asked_at is None:  # asked again while it ends, it hears of nothing new
            self._asked_at, self._asked_late = self._now(), late

    def _count(self) -> int:
        if self._cancelled > CANCELLED:
            return self._turns_or(WAITED)
        after = self._turns_or(CANCELLED_WAITED)
        if after == CANCELLED_WAITED:
            return after
        return self._cancelled - after * (READY_AFTER if READY_WAITED < self._cancelled < CANCELLED else 1)

    def _ready_count(self) -> int:
        """The count of a call that was about to go on."""
        turns = self._turns_or(READY_WAITED)
        if turns == READY_WAITED or turns >= READY_AFTER:
            return READY_WAITED
        return CANCELLED_READY - turns

    def _turns_or(self, waited: int) -> int:
        """The turns since the start; `waited` where they do not tell the place, or may not."""
        if self._loop is None:
            return waited if self._waited else self._yielded
        turns = self._loop.number - self._start
        if self._loop.dry > self._start or turns > _YIELDS_MAX:
            return waited
        if turns == 0 or not self._is_from_outside(self._loop):
            return turns
        if self.came_in <= self._start and turns < _OWN_MAX:
            self.own = turns
        return waited
