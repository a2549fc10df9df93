"""How a result reaches control logic: count how an awaited call gives way to the event loop.

A call that never waits for anything (it only yields bare, as `asyncio.sleep(0)` does) keeps its place among the other
tasks by the number of its yields alone, and a replay repeats just these. A call that waits for something is delivered
when the world answers; its place is the order of deliveries, and the loop turns between two close ones.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Generator
from typing import Generic, TypeVar

from tachograph.core.boundary._values import IMMEDIATE, Delivery
from tachograph.schemas import GAP_MAX

Result = TypeVar("Result")

WAITED = -1
"""`yields` of a call that waited for something."""


class Counted(Generic[Result]):
    """Awaits `inner` and counts how often it gave way, and whether it waited."""

    __slots__ = ("_inner", "yields")

    def __init__(self, inner: Awaitable[Result]) -> None:
        self._inner = inner
        self.yields = 0

    def __await__(self) -> Generator[object, object, Result]:
        steps = self._inner.__await__()
        try:
            waited_for = next(steps)
            while True:
                if waited_for is None:
                    if self.yields != WAITED:
                        self.yields += 1
                else:
                    self.yields = WAITED
                try:
                    sent = yield waited_for
                except GeneratorExit:
                    steps.close()
                    raise
                except BaseException as error:  # cancellation and errors belong to the inner awaitable
                    if self.yields >= 0 and isinstance(error, asyncio.CancelledError):
                        self.yields = WAITED
                    waited_for = steps.throw(error)
                else:
                    waited_for = steps.send(sent) if sent is not None else next(steps)
        except StopIteration as stop:
            result: Result = stop.value
            return result


class TurnCounter:
    """Counts loop turns since the last delivery that had waited, up to GAP_MAX; one per event loop."""

    __slots__ = ("_counting", "turns")

    def __init__(self) -> None:
        self.turns = GAP_MAX
        self._counting = False

    def delivery(self, yields: int) -> Delivery:
        """The delivery of a call that just came back with this count of yields."""
        if yields == 0:
            return IMMEDIATE
        if yields != WAITED:
            return Delivery(yields, 0)
        gap = self.turns
        self.turns = 0
        if not self._counting:
            self._counting = True
            asyncio.get_running_loop().call_soon(self._turn)
        return Delivery(WAITED, gap)

    def _turn(self) -> None:
        self.turns += 1
        if self.turns < GAP_MAX:
            asyncio.get_running_loop().call_soon(self._turn)
        else:
            self._counting = False
