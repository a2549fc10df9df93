"""Decides what happens on a virtual loop, and in which turn: a recorded result arrives, a timer fires.

The recording says of everything that came from outside in which order it came, and in which turn after the one before
where the loop did not run dry between (`_dues`); else it comes when nothing is ready. What it does not say is left open
as an alternative for another attempt (`_open_orders`).
"""

from __future__ import annotations

import heapq
from collections.abc import Callable

from tachograph.replay_workers._alternatives import Alternative, Otherwise
from tachograph.replay_workers._halt import Halt
from tachograph.replay_workers._handed_over import HandedOver
from tachograph.replay_workers._loop import Timer, VirtualLoop
from tachograph.replay_workers._outside_cancel import OutsideCancel
from tachograph.replay_workers._places import Order, PlaceKey
from tachograph.replay_workers._sequences import Arranged
from tachograph.replay_workers._signal import Signal

SPIN_TURNS_MAX = 2_000
"""Turns in which control logic only gives way; after that what it spins for must happen."""

_READY_GUESSED = 9
"""How many may be ready in the turn that a call comes to in its own turns."""

SILENT_TURNS_MAX = 1_000_000
"""Turns without a step, after which control logic counts as one that never ends: some seconds."""


class Schedule(HandedOver):
    """What control logic waits for, and what the loop asks for."""

    def __init__(self, order: Order, otherwise: Otherwise | None = None) -> None:
        super().__init__(order, otherwise or Otherwise())
        self.halted = False
        """Once set, every loop of the unit ends."""
        self.closed = False
        self.stalled: Callable[[], None] = lambda: None
        """Called when the unit cannot go on."""
        self.endless: Callable[[], None] = lambda: None
        """Called when control logic goes on and on without a step."""
        self.lent = 0
        """How many functions of its loops run in threads."""
        self.outside = OutsideCancel()
        """Whoever awaited the unit, and may have broken it off."""
        self._ending: list[Signal] = []
        self._is_counted = order.is_counted

    @property
    def alternatives(self) -> list[Alternative]:
        """What may have happened in another order."""
        return self._open.alternatives

    # What control logic does.

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

    def expected_turns(self, key: PlaceKey) -> int | None:
        """After how many turns a result comes of itself; None where it has to be waited for."""
        place = self._order.arrivals[key]
        own = place.own or place.turns
        if own is None or place.index in self._otherwise.early:
            return None
        self._open.add("early", place.index, self.number + own, self._order.hlc[place.index])
        if self._otherwise.waits.get(place.index):
            return None
        self._open.add("waits", place.index, 1, self._order.hlc[place.index])
        if place.own is not None:
            self._open.amid(place, _READY_GUESSED, self.number + own, self._order.hlc[place.index])
            place.due = self.number + own
            heapq.heappush(self._due, (place.due - 1, place.index, place))
        return own

    def is_early(self, key: PlaceKey, turns: int) -> bool:
        """Whether a cancelled call that ends in so many turns arrives first in the last one, and is to wait for that.

        What it had still to do was under way before it was cancelled: nothing says where in the turn it came to its end.
        """
        place = self._order.arrivals[key]
        if place.index in self._otherwise.early:
            return True
        self._open.add("early", place.index, self.number + turns + place.lead, self._order.hlc[place.index])
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

    def arranged(self, count: int, *, opened: bool = False) -> Arranged:
        """In which order to take some things that the recording took in an unknown one; see `OpenOrders.arranged`."""
        return self._open.arranged(count, self.reached, opened=opened)

    def astray(self, hlc: int) -> None:
        """The step that is taken here is not the recorded one, whose clock this is."""
        self._open.astray(hlc)

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
        if self._heard:
            self._look_amid(loop)
        self._spun += 1
        if self._spun > SPIN_TURNS_MAX and self._next_due() is None:
            self._silent += self._spun
            self._spun = 0
            if self._silent > SILENT_TURNS_MAX:
                self.endless()
                raise Halt
            self._happen(loop)
            self._happen_due(loop)

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

    def _end_next(self) -> None:
        """One of the cancelled is woken, in the place of the one that was cancelled first."""
        first = min(self._ending, key=lambda signal: signal.index)
        self._ending.remove(first)
        first.wake()
