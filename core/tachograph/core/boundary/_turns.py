"""The turns of an event loop while a unit of control logic is recorded on it, and the timers that fire in them.

asyncio has no public interface for either, so the counter stands before the loop's selector, which every turn asks once, and
before `call_at`, through which every timer is set. Where a loop does not allow that, turns are not counted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import Context, ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from tachograph.core.boundary._context import current_agent
from tachograph.core.boundary._values import IMMEDIATE, Delivery
from tachograph.schemas import GAP_MAX

if TYPE_CHECKING:
    from tachograph.core.boundary._tape import Tape

WAITED = -1
"""`yields` of a call that waited for the world."""

CANCELLED = -2
"""`yields` of a call that ended in the turn after its cancellation; n less: n turns later."""

CANCELLED_READY = -500_000
"""`yields` of a call that was about to go on when it was cancelled; n less: it took n turns from its beginning until it
heard of that, and for each `READY_AFTER` in n one more until it ended."""

READY_AFTER = 10_000
"""See `CANCELLED_READY`."""

CANCELLED_WAITED = -1_000_000
"""`yields` of a call that was cancelled and waited for something before it ended."""

READY_WAITED = -2_000_000
"""`yields` of a call that the world had answered just when it was cancelled; n less: it ended n turns later."""

_RANK = 2 * GAP_MAX
"""A gap is turns, and this times how many timers of control logic fired in the same turn before the cause, …"""

_OWN = _RANK << 16
"""… and this times the turns that the call took, where nobody knows whether it waited for what came in meanwhile."""


class Waiting:
    """A call that is out: what it sets timers for is not control logic."""

    yields: int = 0
    """As in `Delivery.yields`."""
    heard: int | None = None
    """The turn in which it heard of its cancellation."""
    came_in: int = -1
    """The latest turn in which one of its timers fired."""
    rank: int = 0
    """How many timers of control logic fired in that turn before it."""
    own: int = 0
    """The turns that it took, where these may be what places it."""


_control: ContextVar[Tape | Waiting | None] = ContextVar("tachograph_control", default=None)
"""The unit's own tape where control logic runs; a call, or None, in what it calls; None outside of any unit."""


@dataclass(frozen=True, slots=True)
class Gap:
    """A recorded gap, taken apart."""

    turns: int | None
    """Since the anchor; None where they are not known."""
    rank: int
    """Among the timers of the turn before."""
    own: int | None
    """Turns since the call's beginning, where that may be what places it."""


def split_gap(gap: int) -> Gap:
    """Take a recorded gap apart."""
    own, rest = divmod(gap, _OWN)
    rank, turns = divmod(rest, _RANK)
    return Gap(turns if turns < GAP_MAX else None, rank, own or None)


@contextmanager
def controlled(tape: Tape) -> Iterator[None]:
    """What runs within is control logic of this tape's unit."""
    token = _control.set(tape)
    try:
        yield
    finally:
        try:
            _control.reset(token)
        except ValueError:  # closed in another context than it was opened in
            _control.set(None)


@contextmanager
def controlled_async(tape: Tape) -> Iterator[None]:
    """The same on an event loop, whose turns are counted from here on."""
    tape.turns.start()
    with controlled(tape):
        yield


def control_tape() -> Tape | None:
    """The tape of the agent whose control logic runs here; None where none does."""
    top = _control.get()
    if top is None or isinstance(top, Waiting):
        return None
    agent = current_agent()
    return agent._tape if agent is not None else top  # noqa: SLF001 the door and its tape are one thing


class Outside:
    """Within this, what runs is not control logic: a tool, a model client, a transport."""

    __slots__ = ("_call", "_token")

    def __init__(self, call: Waiting | None = None) -> None:
        self._call = call

    def __enter__(self) -> None:
        self._token = _control.set(self._call)

    def __exit__(self, *exception: object) -> None:
        try:
            _control.reset(self._token)
        except ValueError:  # closed in another context than it was opened in
            _control.set(None)


def called_outside(function: Callable[..., object], args: tuple[object, ...], kwargs: Mapping[str, object]) -> object:
    """Call what is not control logic."""
    token = _control.set(None)
    try:
        return function(*args, **kwargs)
    finally:
        _control.reset(token)


class LoopTurns:
    """Counts the turns of one event loop, and knows when the loop last ran dry."""

    __slots__ = (
        "__weakref__",
        "_loop_time",
        "_read",
        "_read_in",
        "_set_timer",
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
        """The latest turn in which the selector brought something."""
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
        try:
            loop.time = self._time  # type: ignore[method-assign]
            loop.call_at = self._call_at  # type: ignore[method-assign]
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

    def _from_outside(self, callback: Callable[..., object], args: tuple[object, ...]) -> None:
        call = _control.get()
        if isinstance(call, Waiting):
            call.came_in = self.number
            call.rank = self.fired if self.fired_in == self.number else 0
        callback(*args)

    def _fired(
        self, tape: Tape, number: int, delay_us: int, callback: Callable[..., object], args: tuple[object, ...]
    ) -> None:
        tape.timer_fired(number, delay_us, tape.turns.gap())
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
        return Delivery(yields, self.gap() + rank * _RANK + call.own * _OWN)

    def delivery_of(self, call: Waiting | None) -> Delivery:
        """The delivery of a call that just came back; None: it did so at once."""
        return IMMEDIATE if call is None else self.delivery(call.yields, call)

    def gap(self) -> int:
        """Turns since the anchor, GAP_MAX where the loop ran dry between; this turn is the new anchor."""
        loop = self._loop or self.loop
        anchor, self._anchor = self._anchor, loop.number
        close = loop.exact and 0 <= anchor and loop.dry <= anchor
        return min(loop.number - anchor, GAP_MAX) if close else GAP_MAX

    @property
    def is_anchored(self) -> bool:
        """Whether the loop has not run dry since the anchor."""
        loop = self._loop or self.loop
        return loop.exact and 0 <= self._anchor and loop.dry <= self._anchor
