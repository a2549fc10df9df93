"""The timers that control logic has set in a replay, beside those that fired in the recording."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from tachograph.replay_workers._places import FiredTimer, Order, Place, StreamKey

if TYPE_CHECKING:
    from tachograph.replay_workers._loop import Timer

_DELAY_TOLERANCE_US = 50_000
_DELAY_TOLERANCE = 0.1
"""A timer set for a moment, not a delay, was set for a little less in the recording."""


class PendingTimers:
    """Which pending timer is which recorded one: by stream and number, and by its delay where control logic has changed."""

    def __init__(self, order: Order) -> None:
        self._places = {
            (place.timer.stream, place.timer.number): place
            for place in order.places
            if place is not None and place.timer is not None
        }
        self._pending: dict[tuple[StreamKey, int], Timer] = {}

    def add(self, timer: Timer) -> Place | None:
        """A timer is set; the place where it fired in the recording, if it did."""
        if timer.stream is None:
            return None
        key = (timer.stream, timer.number)
        self._pending[key] = timer
        return self._places.get(key)

    def is_pending(self, place: Place) -> bool:
        """Whether a place's timer is set."""
        fired = place.timer
        timer = self._pending.get((fired.stream, fired.number)) if fired is not None else None
        return timer is not None and not timer.cancelled()

    def take(self, place: Place, pending: Iterable[Timer]) -> Timer | None:
        """The pending timer that fires at a place: its own, else one like it; None if control logic has set none."""
        fired = place.timer
        assert fired is not None
        self._places.pop((fired.stream, fired.number), None)
        self._pending.pop((fired.stream, fired.number), None)
        like = [one for one in pending if one.stream == fired.stream and _is_like(one, fired)]
        return min(like, key=lambda one: abs(one.number - fired.number), default=None)

    def next_of(self, pending: Sequence[Timer], agent_id: str) -> tuple[Timer | None, Place | None]:
        """An agent's earliest timer, and the place where it fired in the recording; (None, None) if it has set none."""
        timer = next((one for one in pending if one.stream is not None and one.stream[0] == agent_id), None)
        if timer is None or timer.stream is None:
            return None, None
        return timer, self._places.get((timer.stream, timer.number))

    def unrecorded(self, pending: Sequence[Timer]) -> Timer | None:
        """The earliest timer that did not fire in the recording."""
        free = (one for one in pending if one.stream is None or (one.stream, one.number) not in self._places)
        return next(free, None)

    def next_place(self) -> Place | None:
        """The first place of a pending timer."""
        places = (place for place in self._places.values() if self.is_pending(place))
        return min(places, key=lambda place: place.index, default=None)


def _is_like(timer: Timer, fired: FiredTimer) -> bool:
    difference = abs(timer.delay * 1e6 - fired.delay_us)
    return difference <= max(_DELAY_TOLERANCE_US, _DELAY_TOLERANCE * fired.delay_us)
