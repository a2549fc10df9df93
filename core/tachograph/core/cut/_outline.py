"""The past of an event behind a base, from nothing but the spans of streams and the causes between them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from tachograph.core.causality import EventId
from tachograph.core.cut._causality import Stream


@dataclass(frozen=True, slots=True)
class Reach:
    """What an event could have known, as far as it lies behind a base."""

    positions: Mapping[Stream, int]
    """Stream to the `seq` of its last event in the past; those of which there is one behind the base."""
    touched: frozenset[Stream]
    """Streams of the base whose last event in it is in the past."""
    missing: tuple[EventId, ...]
    """Causes that lie neither in the base nor in what is known behind it."""


@dataclass(slots=True)
class Outline:
    """What lies behind a base: a closed cut whose events need not be known.

    Args:
        base: stream to the `seq` of its last event in it.
    """

    base: Mapping[Stream, int]
    _spans: dict[Stream, list[tuple[int, int]]] = field(default_factory=dict[Stream, list[tuple[int, int]]])
    _causes: dict[Stream, list[tuple[int, EventId]]] = field(default_factory=dict[Stream, list[tuple[int, EventId]]])

    def span(self, stream: Stream, first: int, last: int) -> None:
        """A stream's events from one `seq` to another are there; those of a stream come in order."""
        spans = self._spans.setdefault(stream, [])
        if spans and spans[-1][1] == first - 1:
            first = spans.pop()[0]
        spans.append((first, last))

    def edge(self, event_id: EventId, cause: EventId) -> None:
        """An event names one of another stream as a cause."""
        self._causes.setdefault(Stream(*event_id[:3]), []).append((event_id.seq, cause))

    def past(self, event_id: EventId) -> Reach:
        """The past of an event behind the base, itself with it."""
        causes = {stream: sorted(found) for stream, found in self._causes.items()}
        positions: dict[Stream, int] = {}
        scanned: dict[Stream, int] = {}
        touched: set[Stream] = set()
        missing: set[EventId] = set()
        todo = [event_id]
        while todo:
            reached = todo.pop()
            stream = Stream(*reached[:3])
            if reached.seq <= positions.get(stream, 0):
                continue
            if reached.seq >= self.base.get(stream, 0):
                touched.add(stream)
            if reached.seq <= self.base.get(stream, 0):
                continue
            if not any(first <= reached.seq <= last for first, last in self._spans.get(stream, ())):
                missing.add(reached)
                continue
            positions[stream] = reached.seq
            found, at = causes.get(stream, []), scanned.get(stream, 0)
            while at < len(found) and found[at][0] <= reached.seq:
                todo.append(found[at][1])
                at += 1
            scanned[stream] = at
        return Reach(positions, frozenset(touched & self.base.keys()), tuple(sorted(missing)))

    def holds_base(self, reach: Reach, dependants: Callable[[EventId], Iterable[EventId]]) -> bool:
        """Whether all of the base lies in a past.

        What is last in a stream of the base and has been reached by no way behind it must have been by one within it:
        from there an event within the base depends on it, on which another one does, and so on, up to one that was
        reached. So it is enough that each stream was reached, or its last event has a dependant within the base.

        Args:
            reach: the past.
            dependants: gives the events of other streams that name an event as a cause.
        """
        return all(
            any(self._is_below(other) for other in dependants(stream.event(self.base[stream])))
            for stream in self.base.keys() - reach.touched
        )

    def _is_below(self, event_id: EventId) -> bool:
        return event_id.seq <= self.base.get(Stream(*event_id[:3]), 0)
