"""Tries again what of a spool is stuck: topics get other limits, clocks are set, registries learn, bodies are restored."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Final

from tachograph.producers.shipper._sources import monotonic_s
from tachograph.schemas import HASH
from tachograph.stores.shipping import BEGINNING, Position, Shipment, SpoolFollower, Stuck, StuckReason

PAUSE_SECONDS_MIN: Final = 30.0
PAUSE_SECONDS_MAX: Final = 900.0
"""Between two attempts: doubled from the least to the most while nothing of a spool comes loose. The first attempt is made
as soon as a spool is taken."""

REFUSED_MAX: Final = 16
"""Refused by the broker in one attempt, which then ends: each costs the producer two clients. The next one begins behind
them."""

_PART_MAX: Final = 256
"""Events sent together: the first one alone, then twice as many each time."""

_READ_BYTES: Final = 512 * 1024
_READ_BYTES_MAX: Final = 64 * 1024 * 1024
"""Read from where an event should lie before it is given up for this time; more than a window and its last batch."""

Refused = dict[str, tuple[StuckReason, str]]
"""Hash of each event that was refused once more: the kind of reason, and its words."""


class Again:
    """What of one spool is stuck.

    Args:
        shipment: the spool's, open.
        follower: reads the spool.
        send: sends events again, in order, and waits for their acknowledgement.
        carry: carries bodies again, by their keys; gives those that are not there.
    """

    def __init__(
        self,
        shipment: Shipment,
        follower: SpoolFollower,
        send: Callable[[Sequence[bytes]], Refused],
        carry: Callable[[Sequence[bytes]], Sequence[bytes]],
    ) -> None:
        self._shipment = shipment
        self._follower = follower
        self._send = send
        self._carry = carry
        self._due_s = 0.0
        self._pause_s = PAUSE_SECONDS_MIN
        self._first = 0

    @property
    def is_due(self) -> bool:
        """Whether something is stuck and it is time to try it again."""
        return monotonic_s() >= self._due_s and any(each.can_be_tried for each in self._shipment.stuck())

    def step(self) -> int:
        """Try again; how many events arrived.

        Raises:
            StoreUnavailable: a server does not answer; it is tried another time.
            GivenUp: it was to stop.
        """
        waiting = [each for each in self._shipment.stuck() if each.can_be_tried]
        self._due_s = monotonic_s() + self._pause_s
        self._pause_s = min(self._pause_s * 2, PAUSE_SECONDS_MAX)
        return self._try([each for each in waiting if each.hash], [each for each in waiting if not each.hash])

    def _try(self, events: Sequence[Stuck], bodies: Sequence[Stuck]) -> int:
        loose = self._bodies(bodies)
        refused: Refused = {}
        sent = self._events(events, refused)
        loose |= sent
        if loose:
            self._pause_s = PAUSE_SECONDS_MIN
        self._shipment.replace_stuck(
            [_told(each, refused) for each in self._shipment.stuck() if (each.what, each.hash) not in loose]
        )
        return len(sent)

    def _bodies(self, stuck: Sequence[Stuck]) -> set[tuple[str, str]]:
        by_key = {each.body: each for each in stuck}
        missing = set(self._carry(list(by_key))) if by_key else set[bytes]()
        return {(each.what, each.hash) for key, each in by_key.items() if key not in missing}

    def _events(self, stuck: Sequence[Stuck], refused: Refused) -> set[tuple[str, str]]:
        """Those that arrived; what was refused is added."""
        first = self._first if self._first < len(stuck) else 0
        found = self._found([*stuck[first:], *stuck[:first]])
        sent: set[tuple[str, str]] = set()
        size, tried = 1, 0
        while part := list(islice(found, size)):
            again = self._send([payload for _, payload in part])
            refused |= again
            sent.update((each.what, each.hash) for each, _ in part if each.hash not in again)
            size, tried = min(size * 2, _PART_MAX), tried + len(part)
            if sum(kind != "too_large" for kind, _ in refused.values()) >= REFUSED_MAX:
                self._first = first + tried - len(sent)
                break
        return sent

    def _found(self, stuck: Sequence[Stuck]) -> Iterator[tuple[Stuck, bytes]]:
        """The events' bytes, from the spool; what is not where it was is passed over."""
        by_place: dict[Position, dict[bytes, Stuck]] = {}
        for each in stuck:
            by_place.setdefault(each.at, {})[bytes.fromhex(each.hash)] = each
        for place, wanted in by_place.items():
            position, left = place, _READ_BYTES_MAX
            while wanted and (left > 0 or place == BEGINNING):
                batch = self._follower.read(position, _READ_BYTES)
                for payload in batch.payloads:
                    if (each_ := wanted.pop(payload[HASH], None)) is not None:
                        yield each_, payload
                left -= sum(map(len, batch.payloads))
                position = batch.end
                if batch.is_last:
                    break


def _told(stuck: Stuck, refused: Refused) -> Stuck:
    """The same, with the latest reason."""
    kind, reason = refused.get(stuck.hash, (stuck.kind, stuck.reason))
    return replace(stuck, kind=kind, reason=reason)
