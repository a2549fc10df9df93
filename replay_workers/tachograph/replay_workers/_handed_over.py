"""Messages that a unit sends to itself, as they go from hand to hand in a replay."""

from __future__ import annotations

from tachograph.replay_workers._dues import Dues
from tachograph.replay_workers._places import Place, PlaceKey


class HandedOver(Dues):
    """Whoever waits for a message of the unit's own goes on in the turn behind its sending."""

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
