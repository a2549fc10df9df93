"""How far a unit has come: its virtual time, and which of its recorded steps and arrivals have happened."""

from __future__ import annotations

from tachograph.replay_workers._places import Order, Place, PlaceKey, StreamKey


class Progress:
    """The virtual time of a unit, and what has happened in it."""

    def __init__(self, order: Order) -> None:
        self.now: float = 0.0
        """Virtual seconds since the unit's first event."""
        self.number: int = 0
        """Number of the loop's turn."""
        self.reached: int = 0
        """The clock of the latest step that was taken."""
        self._order = order
        self._passed = bytearray(len(order.places))
        self._first = 0
        self._spun = 0
        """Turns since anything happened."""
        self._silent = 0
        """Turns without a step before those."""

    def began(self, stream: StreamKey, number: int) -> None:
        """Control logic took a recorded step."""
        order = self._order
        index = order.begins[stream][number - 1]
        if index > self._first:
            self._overtaken(index)
        self._passed[index] = 1
        if index == self._first:
            self._first = index + 1
        self._spun = self._silent = 0
        hlc, at = order.hlc[index], order.at[index]
        if hlc > self.reached:  # noqa: PLR1730  # `max` is a call, and this is done for every step
            self.reached = hlc
        if at > self.now:  # noqa: PLR1730  # as above
            self.now = at

    def arrived(self, key: PlaceKey) -> None:
        """A result is there without having been waited for."""
        place = self._order.arrivals.get(key)
        if place is not None and not self._passed[place.index]:
            self._pass(place)

    def is_turn(self, stream: StreamKey, number: int) -> bool:
        """Whether everything that the recording has before a step has happened."""
        return self._advance() >= self._order.begins[stream][number - 1]

    def advance(self, seconds: float) -> None:
        """Let virtual time pass."""
        self.now += seconds

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

    def _at_least(self, turn: int | None) -> None:
        """Nothing of control logic runs in the turns until this one."""
        if turn is not None and turn > self.number:
            self.number = turn

    def _overtaken(self, index: int) -> None:
        """A step is taken although the recording has something before it that has not happened."""
