"""What an event could have known, and what it could have changed."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass
from operator import attrgetter

from tachograph.core.causality import EventId
from tachograph.core.cut._causality import Causality, Stream
from tachograph.core.cut._closure import cut_at_event

_seq = attrgetter("seq")


@dataclass(frozen=True, slots=True)
class Cone:
    """A causal cone; the event itself is no part of it."""

    of: EventId
    spans: Mapping[Stream, tuple[int, int]]
    """Stream to the `seq` of its first and last event inside."""
    events: int
    missing: tuple[EventId, ...] = ()
    """Causes that the evidence does not hold: what lies behind them is not known."""

    @property
    def agents(self) -> tuple[str, ...]:
        """The agents that have an event inside, sorted."""
        return tuple(sorted({stream.agent_id for stream in self.spans}))


def past(causality: Causality, event_id: EventId) -> Cone:
    """Everything that could have influenced an event.

    Raises:
        UnknownEvent: there is no such event.
    """
    positions = dict(cut_at_event(causality, event_id).positions)
    own = Stream(*event_id[:3])
    positions[own] = causality.at_or_below(own, event_id.seq - 1)
    spans = {stream: (1, last) for stream, last in sorted(positions.items()) if last}
    missing = {
        edge.cause
        for stream in positions
        for edge in causality.edges(stream)
        if edge.seq <= (event_id.seq if stream == own else positions[stream]) and not causality.holds(edge.cause)
    }
    return Cone(event_id, spans, _count(causality, spans), tuple(sorted(missing)))


def future(causality: Causality, event_id: EventId) -> Cone:
    """Everything that an event could have influenced: the blast radius of one bad result.

    Raises:
        UnknownEvent: there is no such event.
    """
    causality.require(event_id)
    firsts: dict[Stream, int] = {}
    scanned: dict[Stream, int] = {}
    todo = [event_id]
    while todo:
        reached = todo.pop()
        stream = Stream(*reached[:3])
        known = firsts.get(stream)
        if known is not None and known <= reached.seq:
            continue
        firsts[stream] = reached.seq
        # What depends on later events was followed when the stream was reached before: each is followed once.
        dependants = causality.dependants(stream)
        start = bisect_left(dependants, reached.seq, key=_seq)
        todo += [dependant.event for dependant in dependants[start : scanned.get(stream)]]
        scanned[stream] = start
    firsts[Stream(*event_id[:3])] += 1
    lasts = {stream: (first, causality.last(stream)) for stream, first in sorted(firsts.items())}
    spans = {stream: span for stream, span in lasts.items() if span[0] <= span[1]}
    return Cone(event_id, spans, _count(causality, spans))


def _count(causality: Causality, spans: Mapping[Stream, tuple[int, int]]) -> int:
    return sum(causality.count(stream, first, last) for stream, (first, last) in spans.items())
