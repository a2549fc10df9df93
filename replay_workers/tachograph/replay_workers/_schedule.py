"""Decides what happens on a virtual loop, and in which turn: a recorded result arrives, a timer fires.

The recording says of everything that came from outside in which order it came, and in which turn after the one before
where the loop did not run dry between; else it comes when nothing is ready. What it does not say is left open as an
alternative for another attempt.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable

from tachograph.replay_workers._alternatives import Alternative, Otherwise
from tachograph.replay_workers._halt import Halt
from tachograph.replay_workers._loop import Timer, VirtualLoop
from tachograph.replay_workers._outside_cancel import OutsideCancel
from tachograph.replay_workers._permutation import neighbours, order_of_rank, rank_of
from tachograph.replay_workers._places import Order, Place, PlaceKey, StreamKey
from tachograph.replay_workers._sequences import Arranged, members
from tachograph.replay_workers._signal import Signal
from tachograph.replay_workers._timers import PendingTimers

SPIN_TURNS_MAX = 2_000
"""Turns in which control logic only gives way; after that what it spins for must happen."""

SILENT_TURNS_MAX = 1_000_000
"""Turns without a step, after which control logic counts as one that never ends: some seconds."""

_ALTERNATIVES_MAX = 256
_PERMUTED_MAX = 8
"""Longer sequences keep the order they were given in."""


class Schedule:
    """The virtual time of a unit, and what has happened in it."""

    def __init__(self, order: Order, otherwise: Otherwise | None = None) -> None:
        self.now = 0.0
        """Virtual seconds since the unit's first event."""
        self.number = 0
        """Number of the loop's turn."""
        self.halted = False
        """Once set, every loop of the unit ends."""
        self.closed = False
        self.alternatives: list[Alternative] = []
        self.stalled: Callable[[], None] = lambda: None
        """Called when the unit cannot go on."""
        self.endless: Callable[[], None] = lambda: None
        """Called when control logic goes on and on without a step."""
        self.fired: Callable[[StreamKey, int], None] = lambda _stream, _seq: None
        """Called with the stream and `seq` of a recorded timer that fires."""
        self.loops: list[VirtualLoop] = []
        """Those that are open."""
        self.lent = 0
        """How many functions of theirs run in threads."""
        self.outside = OutsideCancel()
        """Whoever awaited the unit, and may have broken it off."""
        self._order = order
        self._otherwise = otherwise or Otherwise()
        self._passed = bytearray(len(order.places))
        self._first = 0
        self._due: list[tuple[int, int, Place]] = []
        self._waiting: dict[int, Place] = {}
        self._brought: list[tuple[int, int, Callable[[], object]]] = []
        """What this turn brings, by rank among the timers; 1 where it is one."""
        self._ending: list[Signal] = []
        self._orders = 0
        self._reached = 0
        """The clock of the latest step that was taken."""
        self._spun = 0
        self._silent = 0
        """Turns without a step before those that are counted now."""
        self._timers = PendingTimers(order)
        self._is_counted = order.is_counted
        self._start, self._following = _chain(order)

    # What control logic does.

    def start(self) -> None:
        """The unit starts in this turn."""
        if self._start is not None:
            self._anchored(self._start, self.number)

    def began(self, stream: StreamKey, number: int) -> None:
        """Control logic took a recorded step."""
        index = self._order.begins[stream][number - 1]
        if index > self._first:
            self._overtaken(index)
        self._passed[index] = 1
        self._spun = self._silent = 0
        self._reached = max(self._reached, self._order.hlc[index])
        at = self._order.at[index]
        self.now = max(self.now, at)

    async def arrival(self, key: PlaceKey, *, deaf: bool = False) -> None:
        """Wait until the recorded result arrives; `deaf`: and hear of a cancellation only then."""
        if self.halted:
            raise Halt
        place = self._order.arrivals[key]
        if place.released:
            return
        signal = place.signal = Signal(self, place.index, deaf=deaf)
        self._waiting[place.index] = place
        if place.turns is not None:
            place.due = self.number + place.turns
        place.due = self._otherwise.early.get(place.index, place.due)
        self._expect(place)
        try:
            await signal
        except BaseException:
            self._waiting.pop(place.index, None)
            raise

    def is_mailed(self, key: PlaceKey) -> bool:
        """Whether it is a message that the unit itself is still to send."""
        place = self._order.arrivals[key]
        return place.mailed and place.index not in self._otherwise.early

    def sent(self, message_id: str) -> None:
        """Control logic sends a message: whoever waits for it goes on in the next turn."""
        receivers = self._order.mail.get(message_id)
        if receivers:
            self._hand_over(receivers.pop(0))

    def given_back(self, key: PlaceKey) -> None:
        """A receiver was cancelled just when a message came: who waits next for it goes on in the next turn."""
        place = self._order.arrivals.get(key)
        if place is not None and place.given_back is not None:
            self.sent(place.given_back)

    def _hand_over(self, place: Place) -> None:
        if not place.mailed:
            return
        place.mailed = False
        if place.signal is None or place.released:
            return
        if place.due is not None and place.due - place.lead != self.number + 1:
            self._expect(place)  # another one waited for it first
            return
        self._waiting.pop(place.index, None)
        place.due = self.number + 1 + place.lead
        if place.signal.give():
            self._pass(place)
            place.signal.wake_soon()
            self._anchor(place)

    def expected_turns(self, key: PlaceKey) -> int | None:
        """After how many turns a result comes of itself; None where it has to be waited for."""
        place = self._order.arrivals[key]
        own = place.own or place.turns
        if own is None or place.index in self._otherwise.early:
            return None
        self._open("early", place.index, self.number + own, self._order.hlc[place.index])
        if self._otherwise.waits.get(place.index):
            return None
        self._open("waits", place.index, 1, self._order.hlc[place.index])
        if place.own is not None:
            place.due = self.number + own
            heapq.heappush(self._due, (place.due - 1, place.index, place))
        return own

    def is_early(self, key: PlaceKey, turns: int) -> bool:
        """Whether a cancelled call that ends in so many turns arrives first in the last one, and is to wait for that.

        What it had still to do was under way before it was cancelled: nothing says where in the turn it came to its end.
        """
        index = self._order.arrivals[key].index
        if index in self._otherwise.early:
            return True
        self._open("early", index, self.number + turns, self._order.hlc[index])
        return False

    async def cancellation(self, key: PlaceKey, *, ends: bool) -> None:
        """Wait until control logic cancels the call; `ends`: which ends it at once."""
        if self.halted:
            raise Halt
        await Signal(self, self._order.arrivals[key].index if ends else -1)

    def cancelled(self, signal: Signal) -> None:
        """Control logic cancels what waits for this."""
        if self.closed or signal.index < 0:
            signal.wake_soon()
        else:
            self._ending.append(signal)
            signal.get_loop().call_soon(self._end_next)

    def arrived(self, key: PlaceKey) -> None:
        """A result is there without having been waited for."""
        place = self._order.arrivals.get(key)
        if place is not None and not self._passed[place.index]:
            self._pass(place)

    def timer_set(self, timer: Timer) -> None:
        """Control logic sets a timer."""
        place = self._timers.add(timer)
        if place is not None:
            self._expect(place)

    def arranged(self, count: int, *, opened: bool = False) -> Arranged:
        """In which order to take some things that the recording took in an unknown one.

        Args:
            count: how many there are.
            opened: whether all other orders are alternatives from now on; else they are once one of them goes astray.
        """
        number = self._orders
        self._orders += 1
        rank = self._otherwise.orders.get(number, 0)
        order = order_of_rank(rank, count) if count <= _PERMUTED_MAX else list(range(count))
        if opened and count <= _PERMUTED_MAX:
            for other in neighbours(order):
                self._open("order", number, rank_of(other), self._reached)
        return Arranged(number, order)

    def astray(self, hlc: int) -> None:
        """The step that is taken here is not the recorded one: what it belongs to may have come in another order.

        Args:
            hlc: of the recorded step.
        """
        for member in members():
            for rank in member.later_first():
                self._open("order", member.sequence.number, rank, hlc, urgent=True)

    def is_turn(self, stream: StreamKey, number: int) -> bool:
        """Whether everything that the recording has before a step has happened."""
        return self._advance() >= self._order.begins[stream][number - 1]

    def advance(self, seconds: float) -> None:
        """Let virtual time pass."""
        self.now += seconds

    def close(self) -> None:
        """From now on loops only run what is ready, and the boundary is shut."""
        self.closed = self.halted = True
        self._waiting.clear()

    # What the loop asks for.

    def turn(self, loop: VirtualLoop) -> None:
        """A turn of the loop begins."""
        self.number += 1
        if self.closed:
            return
        if self.halted:
            raise Halt
        self._happen_due(loop)
        while not loop.is_busy:
            if not self._happen(loop) and not loop.wait_for_threads():
                self.stalled()
                raise Halt
            self._happen_due(loop)
        self._spun += 1
        if self._spun > SPIN_TURNS_MAX and self._next_due() is None:
            self._silent += self._spun
            self._spun = 0
            if self._silent > SILENT_TURNS_MAX:
                self.endless()
                raise Halt
            self._happen(loop)
            self._happen_due(loop)

    def _happen_due(self, loop: VirtualLoop) -> None:
        """Let everything happen that this turn brings; what came from outside comes between the timers as it did."""
        while self._due and self._due[0][0] <= self.number:
            self._let_happen(heapq.heappop(self._due)[2], loop)
        ready, self._brought = self._brought, []
        for _, _, make_ready in sorted(ready, key=lambda brought: brought[:2]):
            make_ready()

    def _happen(self, loop: VirtualLoop) -> bool:
        """Nothing is ready: let the next thing happen; False if there is none."""
        first = self._advance()
        place = self._order.places[first] if first < len(self._passed) else None
        if place is not None and (place.timer is not None or place.index in self._waiting):
            return self._let_happen(place, loop)
        if (place is None or place.induced) and self.outside.breaks_off(loop, due_to_end=first < len(self._passed)):
            return True
        due = self._next_due()
        if due is not None:
            return self._let_happen(due, loop)
        # Control logic is not the recorded one, or was recorded on a loop whose timers could not be seen.
        if first < len(self._passed) and self._fire_own(loop, self._order.agents[first]):
            return True
        if not self._is_counted and self._fire_unrecorded(loop, self._timers.unrecorded(loop.timers())):
            return True
        place = min(self._waiting.values(), key=lambda waiting: waiting.index, default=None)
        place = place or self._timers.next_place()
        if place is not None:
            return self._let_happen(place, loop)
        if self._fire_unrecorded(loop, self._timers.unrecorded(loop.timers())):
            return True
        return not loop.is_busy and self._is_induced(first) and self.outside.breaks_off(loop, last=True)

    def _fire_own(self, loop: VirtualLoop, agent_id: str) -> bool:
        """The agent whose turn it is goes on: let its earliest timer fire; False if it has set none."""
        timer, place = self._timers.next_of(loop.timers(), agent_id)
        return self._let_happen(place, loop) if place is not None else self._fire_unrecorded(loop, timer)

    def _fire_unrecorded(self, loop: VirtualLoop, timer: Timer | None) -> bool:
        """Let a timer fire that did not in the recording; False if there is none."""
        if timer is None:
            return False
        self.now = max(self.now, timer.when())
        timer.loop.unset(timer)
        timer.loop.make_ready(timer)
        return True

    def _is_induced(self, index: int) -> bool:
        """Whether the recording has the end of a cancelled call here."""
        place = self._order.places[index] if index < len(self._passed) else None
        return place is not None and place.induced

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

    def _anchor(self, place: Place) -> None:
        """What comes a known number of turns behind a place is due then."""
        following = self._following.get(place.index)
        if following is not None:
            self._anchored(following, place.due if place.due is not None else self.number)

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
            self._brought.append((place.rank, 0, lambda: loop.wake(lambda: loop.call_soon(wake), first=False)))
        else:
            loop.wake(wake, first=first)

    def _at_least(self, turn: int | None) -> None:
        """Nothing of control logic runs in the turns until this one."""
        if turn is not None and turn > self.number:
            self.number = turn

    def _anchored(self, place: Place, turn: int) -> None:
        """The place is a known number of turns behind this one."""
        assert place.gap is not None
        if place.released or place.index in self._otherwise.early:
            return
        place.due = turn + place.gap
        if place.timer is None:
            self._open("early", place.index, place.due, self._order.hlc[place.index])
        self._expect(place)

    def _expect(self, place: Place) -> None:
        """Put a place on the list of what is due, if it is, and control logic waits for it."""
        if place.mailed and place.index not in self._otherwise.early:
            return
        waited_for = place.signal is not None if place.timer is None else self._timers.is_pending(place)
        if place.due is not None and waited_for:
            caused = place.timer is None and place.turns is None and place.index not in self._otherwise.early
            turn = place.due - place.lead - (1 if caused else 0)
            heapq.heappush(self._due, (turn, place.index, place))

    def _next_due(self) -> Place | None:
        while self._due and self._due[0][2].released:
            heapq.heappop(self._due)
        return self._due[0][2] if self._due else None

    def _pass(self, place: Place) -> None:
        """The place has happened."""
        place.released = True
        self._passed[place.index] = 1
        self._spun = 0
        self.now = max(self.now, place.at)

    def _advance(self) -> int:
        """Index of the first thing that has not happened yet."""
        passed, first = self._passed, self._first
        while first < len(passed) and passed[first]:
            first += 1
        self._first = first
        return first

    def _end_next(self) -> None:
        """One of the cancelled is woken, in the place of the one that was cancelled first."""
        first = min(self._ending, key=lambda signal: signal.index)
        self._ending.remove(first)
        first.wake()

    def _overtaken(self, index: int) -> None:
        """A step is taken although the recording has a result before it that is still waited for."""
        first = self._advance()
        place = self._waiting.get(first) if first < index else None
        if place is not None and place.due is None:
            self._open("early", place.index, self.number, self._order.hlc[place.index])

    def _open(self, what: str, key: int, value: int, hlc: int, *, urgent: bool = False) -> None:
        """The recording leaves this open."""
        if len(self.alternatives) < _ALTERNATIVES_MAX:
            self.alternatives.append(Alternative(what, key, value, hlc, urgent))


def _chain(order: Order) -> tuple[Place | None, dict[int, Place]]:
    """What comes a known number of turns after the start, and after each anchor, by the anchor's index."""
    start: Place | None = None
    following: dict[int, Place] = {}
    before: Place | None = None
    for place in order.places:
        if place is None or place.induced or place.turns is not None:
            continue
        if place.gap is not None:
            if before is None:
                start = place
            else:
                following[before.index] = place
        before = place
    return start, following
