"""How a result reaches control logic: count the turns of the event loop that a call takes.

A call during which the loop always had something to do keeps its place among the other tasks by its turns alone, and a
replay lets as many turns pass. A call during which the loop ran dry was answered by the world; its place is the order of
such deliveries, and the turns between two close ones. A call that was cancelled comes back because control logic said
so; its place is the turns between the cancellation and its end.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator
from contextvars import Context
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

from tachograph.core.boundary._values import IMMEDIATE, Delivery
from tachograph.schemas import GAP_MAX

Result = TypeVar("Result")

WAITED = -1
"""`yields` of a call during which the loop ran dry."""

CANCELLED = -2
"""`yields` of a call that ended at once when it was cancelled; n less: n turns after that."""

CANCELLED_WAITED = -1_000_000
"""`yields` of a call that was cancelled and waited for something before it ended."""

_YIELDS_MAX = 900_000
"""More turns than this in one call count as waiting."""


class LoopTurns:
    """Counts the turns of one event loop, and knows when the loop last ran dry."""

    __slots__ = ("__weakref__", "dry", "exact", "number")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.number = 0
        self.dry = 0
        """The latest turn that began with nothing to do."""
        self.exact = self._attach(loop)
        """False where the loop does not let its turns be counted."""

    def _attach(self, loop: asyncio.AbstractEventLoop) -> bool:
        # Every turn of asyncio's loops asks the selector once; no public interface tells of turns.
        selector = getattr(loop, "_selector", None)
        select = getattr(selector, "select", None)
        if select is None:
            return False
        try:
            selector.select = self._counting(select)  # type: ignore[union-attr]
        except AttributeError:
            return False
        return True

    def _counting(self, select: Callable[[float | None], object]) -> Callable[[float | None], object]:
        def counted(timeout: float | None = None) -> object:
            self.number += 1
            if timeout is None or timeout > 0:
                self.dry = self.number
            return select(timeout)

        return counted


_turns: WeakKeyDictionary[asyncio.AbstractEventLoop, LoopTurns] = WeakKeyDictionary()


def turns_of(loop: asyncio.AbstractEventLoop) -> LoopTurns:
    """The counter of a loop's turns."""
    known = _turns.get(loop)
    if known is None:
        known = _turns[loop] = LoopTurns(loop)
    return known


class TurnCounter:
    """Places deliveries on the running event loop; one per loop and process of a run (its entry point's streams)."""

    __slots__ = ("_last", "_loop")

    def __init__(self) -> None:
        self._loop: LoopTurns | None = None
        self._last = -1
        """Turn of the latest delivery that had waited."""

    @property
    def loop(self) -> LoopTurns:
        """The counter of the running loop's turns."""
        if self._loop is None:
            self._loop = turns_of(asyncio.get_running_loop())
        return self._loop

    def mark(self) -> int:
        """The number of this turn."""
        return (self._loop or self.loop).number

    def delivery(self, yields: int) -> Delivery:
        """The delivery of a call that just came back with this count of yields."""
        if yields == 0:
            return IMMEDIATE
        if yields not in (WAITED, CANCELLED_WAITED):
            return Delivery(yields, 0)
        loop = self._loop or self.loop
        last, self._last = self._last, loop.number
        close = loop.exact and last >= 0 and loop.dry <= last
        return Delivery(yields, min(loop.number - last, GAP_MAX) if close else GAP_MAX)


class _Watched:
    """Stands before a task or a group of them that a call waits for, to notice when control logic asks to cancel it.

    A plain future hears of it in the next turn; a task first ends what it waits for itself.
    """

    def __init__(self, inner: asyncio.Future[object], asked: Callable[[], None]) -> None:
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
        self._asked()
        return self._inner.cancel(msg=msg)

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)


class Counted(Generic[Result]):
    """Awaits `inner` and counts the turns it takes.

    Args:
        inner: what is awaited.
        turns: the counter of the loop; without it only bare yields are counted, and anything else is waiting.
        start: the turn to count from, where the call began before `inner`.
    """

    __slots__ = ("_asked_at", "_cancelled", "_inner", "_loop", "_start", "_waited", "_yielded", "yields")

    def __init__(self, inner: Awaitable[Result], turns: TurnCounter | None = None, start: int | None = None) -> None:
        self._inner = inner
        loop = turns.loop if turns is not None else None
        self._loop = loop if loop is not None and loop.exact else None
        self._start = start if start is not None else self._now()
        self._asked_at: int | None = None
        self._cancelled = False
        self._waited = False
        self._yielded = 0
        self.yields = 0
        """As in `Delivery.yields`; valid once the awaiting has ended."""

    def __await__(self) -> Generator[object, object, Result]:
        steps = self._inner.__await__()
        try:
            waited_for = next(steps)
            while True:
                self._yielded += 1
                if waited_for is not None:
                    self._waited = True
                    if type(waited_for) is not asyncio.Future and asyncio.isfuture(waited_for):
                        waited_for = _Watched(waited_for, self._asked)
                try:
                    sent = yield waited_for
                except GeneratorExit:
                    steps.close()
                    raise
                except BaseException as error:  # noqa: BLE001 cancellation and errors belong to the inner awaitable
                    self._thrown(error)
                    waited_for = steps.throw(error)
                else:
                    waited_for = steps.send(sent) if sent is not None else next(steps)
        except StopIteration as stop:
            result: Result = stop.value
            return result
        finally:
            self.yields = self._count()

    def _now(self) -> int:
        return self._loop.number if self._loop is not None else 0

    def _thrown(self, error: BaseException) -> None:
        if isinstance(error, asyncio.CancelledError):
            self._cancelled = True
            self._waited = False
            self._yielded = 0
            self._start = self._now() if self._asked_at is None else self._asked_at + 1
            self._asked_at = None

    def _asked(self) -> None:
        self._asked_at = self._now()

    def _count(self) -> int:
        if self._loop is None:
            turns, waited = self._yielded, self._waited
        else:
            turns, waited = self._loop.number - self._start, self._loop.dry > self._start
        if self._cancelled:
            return CANCELLED_WAITED if waited or turns > _YIELDS_MAX else CANCELLED - turns
        return WAITED if waited or turns > _YIELDS_MAX else turns
