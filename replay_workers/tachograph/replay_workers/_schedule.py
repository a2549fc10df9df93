"""Decides what happens on a virtual loop when nothing is ready: a recorded result arrives, or a timer fires.

The recording fixes the order in which steps began and results arrived, and mostly also the turn of the loop in which they
did. What it does not tell is when a timer of control logic fired that no step followed: there the recorded times
decide, and where these are close together the choice is kept as an alternative for another attempt.
"""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tachograph.core.boundary import Door, current_agent
from tachograph.replay_workers._loop import VirtualLoop
from tachograph.replay_workers._places import Order, Place, PlaceKey, StreamKey

CLOSE_SECONDS = 0.02
"""Two happenings this close may have been in either order."""

TOGETHER_SECONDS = 0.0001
"""Timers this close fire in the same turn."""

TIMER_LATE_SECONDS = 0.0003
"""How late a timer fires, at the least: selectors wait in whole milliseconds."""

SPIN_TURNS_MAX = 2_000
"""Turns in which control logic only gives way; after that what it spins for must happen."""

_ALTERNATIVES_MAX = 64

Option = Place | asyncio.TimerHandle
"""What may happen next: a result arrives, or a timer fires."""


@dataclass(frozen=True, slots=True)
class Alternative:
    """Something that may have happened otherwise."""

    what: str
    """`choice` or `early`."""
    key: int
    """Number of the choice; index of the place."""
    value: int
    """The option to take; the turn to release it in."""
    margin: float
    """Seconds between the two."""
    after: int
    """How many places of the unit's order had been passed."""


@dataclass(frozen=True, slots=True)
class Otherwise:
    """What an attempt does differently from the first one."""

    choices: Mapping[int, int] = field(default_factory=dict)
    early: Mapping[int, int] = field(default_factory=dict)

    def with_(self, alternative: Alternative) -> Otherwise:
        """This, and one thing more."""
        if alternative.what == "choice":
            return Otherwise({**self.choices, alternative.key: alternative.value}, self.early)
        return Otherwise(self.choices, {**self.early, alternative.key: alternative.value})


class Deadlock(BaseException):
    """Nothing is ready, nothing will arrive, no timer is set."""


class Schedule:
    """The virtual time of a unit, and what has arrived in it."""

    def __init__(self, order: Order, otherwise: Otherwise | None = None) -> None:
        self.now = 0.0
        """Virtual seconds since the unit's first event."""
        self.number = 0
        """Number of the loop's turn."""
        self.halted: BaseException | None = None
        """Once set, every loop of the unit ends with it."""
        self.alternatives: list[Alternative] = []
        self.stalled: Callable[[], None] = lambda: None
        """Called when the unit cannot go on."""
        self.closed = False
        self._order = order
        self._otherwise = otherwise or Otherwise()
        self._passed = bytearray(len(order.places))
        self._first = 0
        self._due: list[tuple[int, int, Place]] = []
        self._waiting: dict[int, Place] = {}
        self._latest: Place | None = None
        self._choices = 0
        self._spun = 0
        self._chained: dict[int, Place] = _chain(order)

    def began(self, stream: StreamKey, number: int) -> None:
        """Control logic took a recorded step."""
        index = self._order.begins[stream][number - 1]
        self._passed[index] = 1
        self._spun = 0
        at = self._order.at[index]
        if at > self.now:
            self.now = at
        if index > self._first:
            self._overtaken(index)

    async def arrival(self, key: PlaceKey) -> None:
        """Wait until the recorded result arrives."""
        place = self._order.arrivals[key]
        if place.released:
            return
        future = place.future = asyncio.get_running_loop().create_future()
        self._waiting[place.index] = place
        if place.turns is not None:
            place.due = self.number + place.turns
        early = self._otherwise.early.get(place.index)
        if early is not None:
            place.due = early
        if place.due is not None:
            heapq.heappush(self._due, (place.due, place.index, place))
        try:
            await future
        except BaseException:
            self._waiting.pop(place.index, None)
            raise

    def arrived(self, key: PlaceKey) -> None:
        """A result is there without having been waited for."""
        place = self._order.arrivals.get(key)
        if place is not None and not place.released:
            self._pass(place)

    def advance(self, seconds: float) -> None:
        """Let virtual time pass."""
        self.now += seconds

    def close(self) -> None:
        """From now on loops only run what is ready."""
        self.closed = True
        for place in self._waiting.values():
            if place.future is not None:
                place.future.cancel()
        self._waiting.clear()

    def turn(self, loop: VirtualLoop) -> None:
        """A turn of the loop begins."""
        self.number += 1
        if self.closed:
            return
        if self.halted is not None:
            raise self.halted
        while self._due and self._due[0][0] <= self.number:
            self._release(heapq.heappop(self._due)[2])
        if not loop.is_busy:
            self._idle(loop)
            return
        self._spun += 1
        if self._spun > SPIN_TURNS_MAX and self._next_due() is None:
            self._spun = 0
            self._happen(loop)

    def _idle(self, loop: VirtualLoop) -> None:
        while not loop.is_busy:
            if self._happen(loop):
                continue
            if loop.wait_for_threads():
                continue
            self.stalled()
            raise self.halted or Deadlock

    def _happen(self, loop: VirtualLoop) -> bool:
        """Let the next thing happen; False if there is none."""
        place = self._expected() or self._next_due()
        when = loop.next_timer()
        if place is not None and (when is None or place.at + CLOSE_SECONDS < when):
            return self._release(place)
        if when is not None:
            return self._choose(loop, place, when)
        place = min(self._waiting.values(), key=lambda waiting: waiting.index, default=None)
        return place is not None and self._release(place)

    def _choose(self, loop: VirtualLoop, place: Place | None, when: float) -> bool:
        near = [timer for timer in loop.timers() if timer.when() <= when + CLOSE_SECONDS]
        options: list[Option] = [*near]
        if place is not None and place.at <= when + CLOSE_SECONDS:
            options.append(place)
        taken = self._taken(options)
        if isinstance(taken, Place):
            return self._release(taken)
        together = [timer for timer in near if 0 <= timer.when() - taken.when() <= TOGETHER_SECONDS]
        return self._fire(loop, together)

    def _taken(self, options: list[Option]) -> Option:
        """Which option is taken."""
        if len(options) == 1:
            return options[0]
        number = self._choices
        self._choices += 1
        chosen = self._otherwise.choices.get(number)
        if chosen is not None and chosen < len(options):
            return options[chosen]
        taken = self._likely(options)
        when = _moment(options[taken])
        for other, option in enumerate(options):
            if other != taken and len(self.alternatives) < _ALTERNATIVES_MAX:
                margin = abs(_moment(option) - when)
                self.alternatives.append(Alternative("choice", number, other, margin, self._first))
        return options[taken]

    def _likely(self, options: list[Option]) -> int:
        """The option that the recorded order and times speak for."""
        earliest = min(range(len(options)), key=lambda index: _moment(options[index]))
        if isinstance(options[earliest], Place):
            return earliest
        agent = self._next_agent()
        for index, option in enumerate(options):
            if isinstance(option, asyncio.TimerHandle) and agent is not None and _agent_of(option) == agent:
                return index
        return earliest

    def _next_agent(self) -> str | None:
        """Whose step the recording has next."""
        first = self._advance()
        if first < len(self._passed) and self._order.places[first] is None:
            return self._order.agents[first]
        return None

    def _fire(self, loop: VirtualLoop, timers: list[asyncio.TimerHandle]) -> bool:
        self.now = max(self.now, timers[0].when() + TIMER_LATE_SECONDS)
        for timer in timers:
            loop.fire(timer)
        return True

    def _expected(self) -> Place | None:
        """The first thing that has not happened yet, if it is a result that is waited for."""
        first = self._advance()
        return self._waiting.get(first)

    def _next_due(self) -> Place | None:
        while self._due and self._due[0][2].released:
            heapq.heappop(self._due)
        return self._due[0][2] if self._due else None

    def _advance(self) -> int:
        passed, first = self._passed, self._first
        while first < len(passed) and passed[first]:
            first += 1
        self._first = first
        return first

    def _release(self, place: Place) -> bool:
        if place.released:
            return True
        if place.due is not None and place.due > self.number:
            self.number = place.due  # nothing of control logic runs in the turns between
        self._pass(place)
        self._waiting.pop(place.index, None)
        if place.future is not None and not place.future.done():
            place.future.set_result(None)
        following = self._chained.get(place.index)
        if following is not None:
            self._follow(following)
        return True

    def _follow(self, place: Place) -> None:
        """The arrival after the released one comes a known number of turns later."""
        assert place.gap is not None
        if place.released or place.index in self._otherwise.early:
            return
        place.due = self.number + place.gap
        if place.gap == 0 and place.future is not None:
            self._release(place)
        elif place.future is not None:
            heapq.heappush(self._due, (place.due, place.index, place))

    def _pass(self, place: Place) -> None:
        place.released = True
        self._passed[place.index] = 1
        self._spun = 0
        self.now = max(self.now, place.at)

    def _overtaken(self, index: int) -> None:
        """A step was taken although the recording has a result before it that is still waited for."""
        first = self._advance()
        place = self._waiting.get(first) if first < index else None
        if place is not None and place.due is None and len(self.alternatives) < _ALTERNATIVES_MAX:
            margin = abs(self._order.at[index] - place.at)
            self.alternatives.append(Alternative("early", place.index, self.number - 1, margin, first))


def _chain(order: Order) -> dict[int, Place]:
    """By index of an arrival that had waited: the next one, where it came a known number of turns later."""
    chained: dict[int, Place] = {}
    before: Place | None = None
    for place in order.places:
        if place is None or place.turns is not None:
            continue
        if before is not None and place.gap is not None:
            chained[before.index] = place
        before = place
    return chained


def _moment(option: Option) -> float:
    return option.at if isinstance(option, Place) else option.when()


def _agent_of(timer: asyncio.TimerHandle) -> str | None:
    """The agent in whose control logic a timer was set."""
    context = getattr(timer, "_context", None)
    agent = context.run(current_agent) if context is not None else None
    return agent.id if isinstance(agent, Door) else None
