"""Delivery in causal order from any order of arrival."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

from tachograph.core.causality._ids import EventId
from tachograph.core.errors import EvidenceBroken

T = TypeVar("T")

_Stream = tuple[str, str, int]


class HoldBackFull(EvidenceBroken):
    """More events wait for their predecessors than the buffer holds: some are missing or far too late."""

    def __init__(self, capacity: int, missing: tuple[EventId, ...]) -> None:
        self.capacity = capacity
        self.missing = missing
        named = ", ".join(str(event_id) for event_id in missing[:5])
        super().__init__(
            f"{capacity} events wait for events that have not arrived; the first missing: {named}. "
            f"Read the streams from an earlier place, or pass a larger capacity."
        )


class HoldBack(Generic[T]):
    """Holds events back until their stream's predecessor and their causes have been delivered.

    An event needs its stream's previous one (seq - 1) and what `offer` names. A second event with a known key is
    dropped. Not safe to share between threads.

    Args:
        capacity: how many events may wait at once.
    """

    __slots__ = ("_capacity", "_delivered", "_needed_by", "_waiting")

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._delivered: dict[_Stream, int] = {}
        self._waiting: dict[EventId, tuple[tuple[EventId, ...], T]] = {}
        self._needed_by: dict[EventId, list[EventId]] = {}

    def start_at(self, stream: tuple[str, str, int], seq: int) -> None:
        """Take a stream as delivered up to and including `seq`, as a snapshot says."""
        self._delivered[stream] = seq

    def offer(self, key: EventId, needs: Sequence[EventId], item: T) -> list[T]:
        """Take an event in; returns what can now be delivered, in causal order.

        Args:
            key: of the event.
            needs: its causes in other streams.
            item: what is handed back when its turn has come.

        Raises:
            HoldBackFull: too many wait; the offered event was not taken in.
        """
        if self._is_delivered(key) or key in self._waiting:
            return []
        missing = self._first_missing(key, needs)
        if missing is None:
            return self._deliver(key, item)
        if len(self._waiting) >= self._capacity:
            raise HoldBackFull(self._capacity, self.missing())
        self._waiting[key] = (tuple(needs), item)
        self._needed_by.setdefault(missing, []).append(key)
        return []

    def give_up(self) -> list[T]:
        """Hand back what waits, in order of their ids, and wait for nothing any more."""
        items = [item for _, (_, item) in sorted(self._waiting.items())]
        self._waiting.clear()
        self._needed_by.clear()
        return items

    def missing(self) -> tuple[EventId, ...]:
        """Events that others wait for and that have not arrived, in order of their ids."""
        return tuple(sorted(key for key in self._needed_by if key not in self._waiting))

    def __len__(self) -> int:
        """How many events wait."""
        return len(self._waiting)

    def _is_delivered(self, key: EventId) -> bool:
        return key.seq <= self._delivered.get(key[:3], 0)

    def _first_missing(self, key: EventId, needs: Sequence[EventId]) -> EventId | None:
        previous = EventId(key.run_id, key.agent_id, key.incarnation, key.seq - 1)
        if not self._is_delivered(previous):
            return previous
        return next((need for need in needs if not self._is_delivered(need)), None)

    def _deliver(self, key: EventId, item: T) -> list[T]:
        delivered: list[T] = []
        ready = [(key, item)]
        for ready_key, ready_item in ready:
            delivered.append(ready_item)
            self._delivered[ready_key[:3]] = ready_key.seq
            for waiting_key in self._needed_by.pop(ready_key, ()):
                needs, waiting_item = self._waiting[waiting_key]
                missing = self._first_missing(waiting_key, needs)
                if missing is None:
                    del self._waiting[waiting_key]
                    ready.append((waiting_key, waiting_item))
                else:
                    self._needed_by.setdefault(missing, []).append(waiting_key)
        return delivered
