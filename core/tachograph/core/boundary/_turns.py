"""The turns of an event loop while a unit of control logic is recorded on it, and the timers that fire in them.

asyncio has no public interface for either, so the counter stands before the loop's selector, which every turn asks once, and
before `call_at`, through which every timer is set. Where a loop does not allow that, turns are not counted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import Context
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from tachograph.core.boundary._control import Waiting, control_tape, waiting_call
from tachograph.core.boundary._places import CANCELLED_WAITED, READY_WAITED, WAITED, joined_gap
from tachograph.core.boundary._values import IMMEDIATE, Delivery
from tachograph.schemas import GAP_MAX

if TYPE_CHECKING:
    from tachograph.core.boundary._tape import Passage, Tape


class LoopTurns:
    """Counts the turns of one event loop, and knows when the loop last ran dry."""

    __slots__ = (
        "__weakref__",
        "_loop_time",
        "_read",
        "_read_in",
        "_set_timer",
        "_threadsafe",
        "dry",
        "exact",
        "fired",
        "fired_in",
        "input",
        "number",
    )

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.number = 0
        self.dry = 0
        """The latest turn that began with nothing to do."""
        self.input = -1
        """The latest turn in which the selector or another thread brought something."""
        self.fired_in = -1
        """The latest turn in which timers of control logic fired."""
        self.fired = 0
        """How many did in it so far."""
        self._read_in = -1
        self._read = 0.0
        self.exact = self._attach(loop)
        """False where the loop does not let its turns be counted."""

    def _attach(self, loop: asyncio.AbstractEventLoop) -> bool:
        selector = getattr(loop, "_selector", None)
        select = getattr(selector, "select", None)
        if select is None:
            return False
        self._loop_time = loop.time
        self._set_timer = loop.call_at
        self._threadsafe = loop.call_soon_threadsafe
        try:
            loop.time = self._time  # type: ignore[method-assign]
            loop.call_at = self._call_at  # type: ignore[method-assign]
            loop.call_soon_threadsafe = self._call_threadsafe  # type: ignore[method-assign]
            selector.select = self._counting(select)  # type: ignore[union-attr]
        except AttributeError:
            return False
        return True

    def _counting(self, select: Callable[[float | None], object]) -> Callable[[float | None], object]:
        def counted(timeout: float | None = None) -> object:
            self.number += 1
            if timeout is None or timeout > 0:
                self.dry = self.number
            found = select(timeout)
            if found:
                self.input = self.number
            return found

        return counted

    def _time(self) -> float:
        """The loop's time; in control logic it stands still within a turn.

        asyncio compares times to decide whether a time-out is over already. A replay must decide the same, and knows
        turns, not moments.
        """
        if control_tape() is None:
            return self._loop_time()
        if self._read_in != self.number:
            self._read_in, self._read = self.number, self._loop_time()
        return self._read

    def _call_at(
        self, when: float, callback: Callable[..., object], *args: object, context: Context | None = None
    ) -> asyncio.TimerHandle:
        tape = control_tape()
        if tape is None:
            return self._set_timer(when, self._from_outside, callback, args, context=context)
        delay_us = round((when - self._time()) * 1e6)
        number = tape.set_timer()
        return self._set_timer(when, self._fired, tape, number, delay_us, callback, args, context=context)

    def _call_threadsafe(
        self, callback: Callable[..., object], *args: object, context: Context | None = None
    ) -> asyncio.Handle:
        """What another thread brings is run as soon as it is there, at times before the selector has told of it."""
        return self._threadsafe(self._from_thread, callback, args, context=context)

    def _from_thread(self, callback: Callable[..., object], args: tuple[object, ...]) -> None:
        self.input = self.number
        callback(*args)

    def _from_outside(self, callback: Callable[..., object], args: tuple[object, ...]) -> None:
        call = waiting_call()
        if call is not None:
            call.came_in = self.number
            call.rank = self.fired if self.fired_in == self.number else 0
        callback(*args)

    def _fired(
        self, tape: Tape, number: int, delay_us: int, callback: Callable[..., object], args: tuple[object, ...]
    ) -> None:
        tape.timer_fired(number, delay_us)
        if self.fired_in != self.number:
            self.fired_in, self.fired = self.number, 0
        self.fired += 1
        callback(*args)


_turns: WeakKeyDictionary[asyncio.AbstractEventLoop, LoopTurns] = WeakKeyDictionary()


def turns_of(loop: asyncio.AbstractEventLoop) -> LoopTurns:
    """The counter of a loop's turns."""
    known = _turns.get(loop)
    if known is None:
        known = _turns[loop] = LoopTurns(loop)
    return known


class TurnCounter:
    """Places what happens on the running event loop; one per loop and unit: what one entry point invocation shares.

    Its anchor is the unit's start, and later its latest timer or delivery that had waited: where the loop has not run
    dry since, the turns between say exactly when the next one came.
    """

    __slots__ = ("_anchor", "_loop")

    def __init__(self) -> None:
        self._loop: LoopTurns | None = None
        self._anchor = -1

    @property
    def loop(self) -> LoopTurns:
        """The counter of the running loop's turns."""
        if self._loop is None:
            self._loop = turns_of(asyncio.get_running_loop())
        return self._loop

    def start(self) -> None:
        """The unit starts in this turn."""
        self._anchor = self.loop.number

    def opened(self) -> None:
        """An agent is opened: from here on the loop's timers are seen, and of a loop that the unit itself runs, the turns.

        That is one of a synchronous entry point, or of a thread: the unit did not start on it.
        """
        if self._anchor < 0:
            self.start()

    def mark(self) -> int:
        """The number of this turn."""
        return (self._loop or self.loop).number

    def delivery(self, yields: int, call: Waiting | None = None) -> Delivery:
        """The delivery of a call that just came back with this count of turns."""
        if yields == 0:
            return IMMEDIATE
        if yields not in (WAITED, CANCELLED_WAITED) and yields > READY_WAITED:
            return Delivery(yields, 0)
        if call is None:
            return Delivery(yields, self.gap())
        heard = self.mark() if call.heard is None else call.heard
        rank = call.rank if call.came_in == heard - 1 else 0
        return Delivery(yields, joined_gap(self.gap(), rank, call.own))

    def delivery_of(self, call: Waiting | None, passage: Passage) -> Delivery:
        """The delivery of a call that just came back; None: it did so at once. What is not recorded is no anchor."""
        return IMMEDIATE if call is None or passage.over else self.delivery(call.yields, call)

    def gap(self) -> int:
        """Turns since the anchor, GAP_MAX where the loop ran dry between; this turn is the new anchor."""
        loop = self._loop or self.loop
        anchor, self._anchor = self._anchor, loop.number
        close = loop.exact and anchor >= 0 and loop.dry <= anchor
        return min(loop.number - anchor, GAP_MAX) if close else GAP_MAX

    @property
    def is_anchored(self) -> bool:
        """Whether the loop has not run dry since the anchor."""
        loop = self._loop or self.loop
        return loop.exact and self._anchor >= 0 and loop.dry <= self._anchor
