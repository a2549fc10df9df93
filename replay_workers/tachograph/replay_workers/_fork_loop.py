"""The loop of a fork: that of a replay, on which turns and timers are counted as a recorder counts them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import Context
from typing import TYPE_CHECKING, TypeVarTuple, cast

from tachograph.core.boundary import LoopTurns, TurnCounter, Waiting, control_tape, waiting_call
from tachograph.replay_workers._alternatives import Otherwise
from tachograph.replay_workers._loop import Timer, VirtualLoop, VirtualPolicy
from tachograph.replay_workers._places import Order, Place, PlaceKey
from tachograph.replay_workers._schedule import Schedule

if TYPE_CHECKING:
    from tachograph.core.boundary import Tape
    from tachograph.replay_workers._signal import Signal

Ts = TypeVarTuple("Ts")


class ForkTurns(LoopTurns):
    """The turns of a schedule, in place of those of a loop with a world."""

    def __init__(self) -> None:
        super().__init__(cast("asyncio.AbstractEventLoop", None))  # it stands before no loop: the schedule counts
        self.exact = True


class ForkCounter(TurnCounter):
    """Places what happens in a fork."""

    def __init__(self, turns: ForkTurns, opened: Callable[[], bool]) -> None:
        super().__init__()
        self._loop = turns
        self._opened = opened

    def opened(self) -> None:
        """An agent is opened; on a loop of its own the turns are counted from there."""
        if self._opened():
            self.start()


class ForkSchedule(Schedule):
    """A schedule whose turns are counted, and that asks once more before it gives up."""

    def __init__(self, order: Order, otherwise: Otherwise) -> None:
        super().__init__(order, otherwise)
        self.turns = ForkTurns()
        self.counter = ForkCounter(self.turns, self.opened)
        self.relieved: Callable[[], bool] = lambda: False
        """Called when nothing can happen; whether it made something happen."""
        self._calls: dict[int, Waiting] = {}
        """Those that wait for what is to come from outside, by the index of its place."""

    def start(self) -> None:
        """The unit starts in this turn."""
        super().start()
        self.counter.start()

    async def arrival(self, key: PlaceKey, *, deaf: bool = False) -> None:
        """Wait until the recorded result arrives, as from outside: a replay of the fork has to wait for it there, too."""
        call, place = waiting_call(), self._order.arrivals[key]
        if call is not None and place.turns is None:
            self._calls[place.index] = call
        try:
            await super().arrival(key, deaf=deaf)
        finally:
            self._calls.pop(place.index, None)

    def turn(self, loop: VirtualLoop) -> None:
        """A turn of the loop begins."""
        dry = not loop.is_busy
        super().turn(loop)
        self.turns.number = self.number
        if dry:
            self.turns.dry = self.number

    def _bring(self, place: Place, signal: Signal, loop: VirtualLoop) -> None:
        if place.due is not None and place.turns is None and place.index not in self._otherwise.early:
            place.due = max(place.due, self.number + 1 + place.lead)  # what is late comes as what is in time
        super()._bring(place, signal, loop)
        self.turns.input = self.number
        call = self._calls.get(place.index) if not signal.cancelled() else None
        if call is not None and place.due is not None:  # before it goes on: that may be with a cancellation
            call.came_in, call.rank = place.due - place.lead - 1, place.rank

    def _happen(self, loop: VirtualLoop) -> bool:
        return super()._happen(loop) or self.relieved()


class ForkLoop(VirtualLoop):
    """A virtual loop that tells control logic's tapes of the timers that fire."""

    def call_at(
        self,
        when: float,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> Timer:
        tape = control_tape()
        if tape is None:
            return super().call_at(when, callback, *args, context=context)

        def fired() -> None:
            _fired(tape, timer)
            callback(*args)

        timer = super().call_at(when, fired, context=context)
        return timer


class ForkPolicy(VirtualPolicy):
    """Gives every part of control logic such a loop on the same schedule."""

    def new_event_loop(self) -> ForkLoop:
        return ForkLoop(self._schedule)


def _fired(tape: Tape, timer: Timer) -> None:
    tape.timer_fired(timer.number, round(timer.delay * 1e6))
