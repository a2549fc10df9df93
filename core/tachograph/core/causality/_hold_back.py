"""Delivery in causal order from any order of arrival."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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


class _Line(Generic[T]):
    """One stream: how far it is delivered, and what waits behind that."""

    __slots__ = ("delivered", "stream", "waiting", "wanted")

    def __init__(self, stream: _Stream) -> None:
        self.stream = stream
        self.delivered = 0
        self.waiting: dict[int, tuple[Sequence[EventId], T]] = {}
        """By `seq`: causes and item."""
        self.wanted: dict[int, list[_Line[T]]] = {}
        """By `seq` of an event here: the lines whose next event depends on it."""


class HoldBack(Generic[T]):
    """Holds events back until their stream's predecessor and their causes have been delivered.

    An event needs its stream's previous one (seq - 1) and what `offer` names. A second event with a known key is
    dropped. Not safe to share between threads.

    Args:
        capacity: how many events may wait at once.
    """

    __slots__ = ("_capacity", "_count", "_lines")

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._count = 0
        self._lines: dict[_Stream, _Line[T]] = {}

    def start_at(self, stream: tuple[str, str, int], seq: int) -> None:
        """Take a stream as delivered up to and including `seq`, as a snapshot says."""
        self._line(stream).delivered = seq

    def offer(self, key: EventId, needs: Sequence[EventId], item: T) -> list[T]:
        """Take an event in; returns what can now be delivered, in causal order.

        Args:
            key: of the event.
            needs: its causes in other streams.
            item: what is handed back when its turn has come.

        Raises:
            HoldBackFull: too many wait; the offered event was not taken in.
        """
        stream = key[:3]
        line = self._lines.get(stream) or self._line(stream)
        seq = key.seq
        ahead = seq - line.delivered - 1
        if ahead < 0 or seq in line.waiting:
            return []
        blocked = None if ahead or not needs else self._blocked(needs)
        if ahead or blocked is not None:
            if self._count >= self._capacity:
                raise HoldBackFull(self._capacity, self.missing())
            self._count += 1
            line.waiting[seq] = (needs, item)
            if blocked is not None:
                self._want(blocked, line)
            return []
        line.delivered = seq
        delivered = [item]
        if line.waiting or line.wanted:
            self._go_on(line, delivered)
        return delivered

    def give_up(self) -> list[T]:
        """Hand back what waits, every stream's in order, and wait for nothing any more."""
        lines = [self._lines[stream] for stream in sorted(self._lines)]
        items = [item for line in lines for _, (_, item) in sorted(line.waiting.items())]
        for line in lines:
            line.waiting.clear()
            line.wanted.clear()
        self._count = 0
        return items

    def missing(self) -> tuple[EventId, ...]:
        """Events that others wait for and that have not arrived, in order of their ids."""
        return tuple(sorted({event_id for line in self._lines.values() for event_id in self._missing_of(line)}))

    def __len__(self) -> int:
        """How many events wait."""
        return self._count

    def _line(self, stream: _Stream) -> _Line[T]:
        line = self._lines.get(stream)
        if line is None:
            line = self._lines[stream] = _Line(stream)
        return line

    def _blocked(self, needs: Sequence[EventId]) -> EventId | None:
        """The first of some causes that is not delivered."""
        for need in needs:
            line = self._lines.get(need[:3])
            if line is None or need.seq > line.delivered:
                return need
        return None

    def _want(self, need: EventId, line: _Line[T]) -> None:
        """A line's next event waits for this one; what stands behind it in the line waits with it, unlisted."""
        self._line(need[:3]).wanted.setdefault(need.seq, []).append(line)

    def _go_on(self, line: _Line[T], delivered: list[T]) -> None:
        """After a delivery: whatever its line has waiting, and whatever waited for it."""
        todo = line.wanted.pop(line.delivered, [])
        todo.append(line)
        while todo:
            line = todo.pop()
            while (waiting := line.waiting.get(line.delivered + 1)) is not None:
                needs, item = waiting
                blocked = self._blocked(needs) if needs else None
                if blocked is not None:
                    self._want(blocked, line)
                    break
                line.delivered += 1
                del line.waiting[line.delivered]
                self._count -= 1
                delivered.append(item)
                if line.wanted:
                    todo += line.wanted.pop(line.delivered, ())

    def _missing_of(self, line: _Line[T]) -> Iterator[EventId]:
        """What a line waits for and has not got, and what others wait for in it."""
        following = line.delivered + 1
        if line.waiting and following not in line.waiting:
            yield EventId(*line.stream, following)
        for seq in line.wanted:
            if seq not in line.waiting:
                yield EventId(*line.stream, seq)
