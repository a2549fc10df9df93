"""A cut, and the proof that it is closed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tachograph.core.causality import EventId
from tachograph.core.cut._causality import Causality, Stream


@dataclass(frozen=True, slots=True)
class Cut:
    """A set of events that holds every stream's beginning up to a position."""

    positions: Mapping[Stream, int]
    """Stream to the `seq` of its last event inside; a stream without any is not named."""

    def holds(self, event_id: EventId) -> bool:
        """Whether an event is inside."""
        return event_id.seq <= self.positions.get(Stream(*event_id[:3]), 0)


@dataclass(frozen=True, slots=True)
class Proof:
    """What was checked of a cut, event by event, independently of how it was made."""

    streams: int
    events: int
    edges: int
    """Causes in other streams of events inside: each was looked for inside."""
    open: tuple[tuple[EventId, EventId], ...]
    """(event inside, its cause outside); a closed cut has none."""
    missing: tuple[EventId, ...]
    """Causes of events inside that the evidence does not hold at all."""

    @property
    def is_closed(self) -> bool:
        """Whether every cause that the evidence holds is inside."""
        return not self.open


def proof(causality: Causality, cut: Cut) -> Proof:
    """Check a cut: is the cause of everything inside, inside?"""
    open_edges: list[tuple[EventId, EventId]] = []
    missing: set[EventId] = set()
    events = edges = 0
    for stream, last in cut.positions.items():
        events += causality.count(stream, 1, last)
        for edge in causality.edges(stream):
            if edge.seq > last:
                break
            edges += 1
            if not causality.holds(edge.cause):
                missing.add(edge.cause)
            elif not cut.holds(edge.cause):
                open_edges.append((stream.event(edge.seq), edge.cause))
    return Proof(len(cut.positions), events, edges, tuple(sorted(open_edges)), tuple(sorted(missing)))
