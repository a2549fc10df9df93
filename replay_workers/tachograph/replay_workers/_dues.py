"""What comes in which turn: results and timers of which the recording tells the turn, by what came before them.

A result is caused in one turn, and control logic hears of it in the next; timers that fire in the turn of its cause come
before and behind it as they did.
"""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable, Sequence

from tachograph.replay_workers._alternatives import Otherwise
from tachograph.replay_workers._loop import Timer, VirtualLoop
from tachograph.replay_workers._open_orders import OpenOrders
from tachograph.replay_workers._places import Order, Place, StreamKey
from tachograph.replay_workers._progress import Progress
from tachograph.replay_workers._signal import Signal
from tachograph.replay_workers._timers import PendingTimers


class Dues(Progress):
    """What is due in which turn, and how it is brought."""

    def __init__(self, order: Order, otherwise: Otherwise) -> None:
        super().__init__(order)
        self.loops: list[VirtualLoop] = []
        """Those that are open."""
        self.fired: Callable[[StreamKey, int], None] = lambda _stream, _seq: None
        """Called with the stream and `seq` of a recorded timer that fires."""
        self._open = OpenOrders(otherwise)
        self._otherwise = otherwise
        self._due: list[tuple[int, int, Place]] = []
        self._waiting: dict[int, Place] = {}
        """Where control logic waits for a result, by index."""
        self._brought: list[tuple[int, int, Callable[[], object]]] = []
        """What this turn brings, by rank among the timers; 1 where it is one."""
        self._heard: list[tuple[Place, Callable[[], object]]] = []
        """What control logic hears of next, and how it is told."""
        self._timers = PendingTimers(order)
        self._chained = _chained(order)
        """What is placed by the turns between, in its order."""
        self._start, self._following = _chain(self._chained)

    def start(self) -> None:
        """The unit starts in this turn."""
        _begin(asyncio.get_running_loop())
        if self._start is not None:
            self._anchored(self._start, self.number)

    def opened(self) -> bool:
        """An agent is opened; whether it is the first one on a loop that the unit did not start on: turns count from there."""
        if not _begin(asyncio.get_running_loop()):
            return False
        first = self._advance()
        place = next((one for one in self._chained if one.index >= first and not one.released), None)
        if place is not None and place.gap is not None:
            self._anchored(place, self.number)
        return True

    def timer_set(self, timer: Timer) -> None:
        """Control logic sets a timer."""
        place = self._timers.add(timer)
        if place is not None:
            self._expect(place)

    def _happen_due(self, loop: VirtualLoop) -> None:
        """Let everything happen that this turn brings; what came from outside comes between the timers as it did."""
        while self._due and self._due[0][0] <= self.number:
            self._let_happen(heapq.heappop(self._due)[2], loop)
        if self._brought:
            ready, self._brought = self._brought, []
            for _, _, make_ready in sorted(ready, key=lambda brought: brought[:2]):
                make_ready()

    def _next_due(self) -> Place | None:
        while self._due and self._due[0][2].released:
            heapq.heappop(self._due)
        return self._due[0][2] if self._due else None

    def _expect(self, place: Place) -> None:
        """Put a place on the list of what is due, if it is, and control logic waits for it."""
        if place.mailed and place.index not in self._otherwise.early:
            return
        waited_for = place.signal is not None if place.timer is None else self._timers.is_pending(place)
        if place.due is not None and waited_for:
            caused = place.timer is None and place.turns is None and place.index not in self._otherwise.early
            turn = place.due - place.lead - (1 if caused else 0)
            heapq.heappush(self._due, (turn, place.index, place))

    def _anchor(self, place: Place) -> None:
        """What comes a known number of turns behind a place is due then."""
        following = self._following.get(place.index)
        if following is not None:
            self._anchored(following, place.due if place.due is not None else self.number)

    def _anchored(self, place: Place, turn: int) -> None:
        """The place is a known number of turns behind this one."""
        assert place.gap is not None
        if place.released or place.index in self._otherwise.early:
            return
        place.due = turn + place.gap
        if place.timer is None:
            self._open.add("early", place.index, place.due, self._order.hlc[place.index])
        self._expect(place)

    def _let_happen(self, place: Place, loop: VirtualLoop) -> bool:
        if place.released:
            return True
        if place.timer is not None:
            self._fire(place, loop)
        elif place.signal is not None:
            self._waiting.pop(place.index, None)
            self._bring(place, place.signal, loop)
        else:
            place.released = True
        self._anchor(place)
        return True

    def _fire(self, place: Place, loop: VirtualLoop) -> None:
        """A recorded timer fires in this turn."""
        fired = place.timer
        assert fired is not None
        self._at_least(place.due)
        timer = self._timers.take(place, self._pending(loop))
        if timer is not None:
            self.fired(fired.stream, fired.seq)
            timer.loop.unset(timer)
            rank = sum(1 for brought in self._brought if brought[1])
            self._brought.append((rank, 1, lambda: timer.loop.make_ready(timer)))
        self._pass(place)

    def _pending(self, loop: VirtualLoop) -> list[Timer]:
        """The pending timers of every loop of the unit."""
        others = [timer for other in self.loops if other is not loop for timer in other.timers()]
        return [*loop.timers(), *others]

    def _bring(self, place: Place, signal: Signal, loop: VirtualLoop) -> None:
        """A result comes: in this turn what causes it, in the next one control logic hears of it."""
        place.released = True

        def wake() -> None:
            self._pass(place)
            signal.wake()

        if place.due is None:
            place.due = self.number + 1 + place.lead
        first = place.index in self._otherwise.early
        heard = place.due - place.lead
        caused = place.turns is None and not first and self.number < heard
        self._at_least(heard - 1 if caused else heard)
        if not signal.give():
            return
        if caused:
            self._brought.append((place.rank, 0, lambda: loop.wake(lambda: loop.call_soon(wake))))
            self._heard.append((place, wake))
        elif first:
            self._open.amid(place, loop.before(wake), self.number, self._order.hlc[place.index])
            loop.wake(wake, behind=self._otherwise.behind.get(place.index, 0))
        else:
            loop.wake(wake)

    def _look_amid(self, loop: VirtualLoop) -> None:
        """What a thread brought may have come before some of what was ready then."""
        heard, self._heard = self._heard, []
        for place, wake in heard:
            if place.due is not None and place.due - place.lead > self.number:
                self._heard.append((place, wake))
            else:
                self._open.amid(place, loop.before(wake), self.number, self._order.hlc[place.index])

    def _overtaken(self, index: int) -> None:
        """A step is taken although the recording has a result before it that is still waited for."""
        first = self._advance()
        place = self._waiting.get(first) if first < index else None
        if place is not None and place.due is None:
            self._open.add("early", place.index, self.number, self._order.hlc[place.index])


def _begin(loop: asyncio.AbstractEventLoop) -> bool:
    """The unit is on this loop; whether it was not before."""
    if not isinstance(loop, VirtualLoop) or loop.begun:
        return False
    loop.begun = True
    return True


def _chained(order: Order) -> list[Place]:
    return [place for place in order.places if place is not None and not place.induced and place.turns is None]


def _chain(places: Sequence[Place]) -> tuple[Place | None, dict[int, Place]]:
    """What comes a known number of turns after the start, and after each anchor, by the anchor's index."""
    start: Place | None = None
    following: dict[int, Place] = {}
    before: Place | None = None
    for place in places:
        if place.gap is not None:
            if before is None:
                start = place
            else:
                following[before.index] = place
        before = place
    return start, following
