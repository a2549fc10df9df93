"""Events of a run that wait for those before them in their streams."""

from __future__ import annotations

from typing import NamedTuple

from tachograph.core.causality import EventId, HoldBack
from tachograph.schemas import EventMeta


class Item(NamedTuple):
    """An event that waits."""

    offset: int
    payload: bytes


class Held:
    """The events of one run that came too early.

    Args:
        capacity: how many may wait.
    """

    __slots__ = ("_back", "_offsets", "bytes")

    def __init__(self, capacity: int) -> None:
        self._back: HoldBack[Item] = HoldBack(capacity)
        self._offsets: dict[EventId, int] = {}
        self.bytes = 0

    def __len__(self) -> int:
        """How many wait."""
        return len(self._back)

    @property
    def first_offset(self) -> int:
        """Of the record that has waited longest."""
        return next(iter(self._offsets.values()))

    def wait(self, meta: EventMeta, at: int, offset: int, payload: bytes) -> None:
        """Hold an event whose stream is at the event `at`.

        Raises:
            HoldBackFull: too many wait.
        """
        key = _key(meta)
        self._back.start_at(key[:3], at)
        waiting = len(self._back)
        self._back.offer(key, (), Item(offset, payload))
        if len(self._back) > waiting:
            self._offsets[key] = offset
            self.bytes += len(payload)

    def follow(self, meta: EventMeta) -> list[bytes]:
        """The events that can be folded now that this one is."""
        key = _key(meta)
        self._back.start_at(key[:3], meta.seq - 1)
        ready = self._back.offer(key, (), Item(0, b""))[1:]
        for number, item in enumerate(ready, meta.seq + 1):
            del self._offsets[EventId(*key[:3], number)]
            self.bytes -= len(item.payload)
        return [item.payload for item in ready]

    def give_up(self) -> list[Item]:
        """All of them, every stream's in order; none waits any more."""
        self._offsets.clear()
        self.bytes = 0
        return self._back.give_up()


def _key(meta: EventMeta) -> EventId:
    return EventId(meta.run_id, meta.agent_id, meta.incarnation, meta.seq)
