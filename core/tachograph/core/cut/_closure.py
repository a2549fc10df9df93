"""Cuts at a time, at an event, and at any positions, each closed."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from operator import attrgetter

from tachograph.core.causality import EventId
from tachograph.core.cut._causality import Causality, Stream
from tachograph.core.cut._cut import Cut

_seq = attrgetter("seq")


def cut_at_time(causality: Causality, hlc: int) -> Cut:
    """Everything up to a time of the hybrid logical clock.

    That is closed by the clock's own rule, but where a clock ran too far ahead to be followed: what depends on such an
    event is then outside as well.
    """
    return _lowered(causality, {stream: causality.last_by(stream, hlc) for stream in causality.streams()})


def cut_at_positions(causality: Causality, positions: Mapping[Stream, int]) -> Cut:
    """The largest closed cut within positions, such as offsets of a log give; streams that are not named are outside."""
    within = {stream: causality.at_or_below(stream, seq) for stream, seq in positions.items()}
    return _lowered(
        causality, {stream: max(within.get(stream, 0), seq) for stream, seq in causality.base.items()} | within
    )


def cut_at_event(causality: Causality, event_id: EventId) -> Cut:
    """The smallest closed cut that holds an event: all that it could have known, and itself.

    Raises:
        UnknownEvent: there is no such event.
    """
    causality.require(event_id)
    positions: dict[Stream, int] = dict(causality.base)
    scanned: dict[Stream, int] = {}
    todo = [event_id]
    while todo:
        reached = todo.pop()
        stream = Stream(*reached[:3])
        if reached.seq <= positions.get(stream, 0):
            continue
        positions[stream] = reached.seq
        edges = causality.edges(stream)
        at = scanned.get(stream, 0)
        while at < len(edges) and edges[at].seq <= reached.seq:
            if causality.holds(edges[at].cause):
                todo.append(edges[at].cause)
            at += 1
        scanned[stream] = at
    return Cut(positions)


def _lowered(causality: Causality, positions: dict[Stream, int]) -> Cut:
    """The largest closed cut within positions: what depends on anything outside goes, until nothing does."""
    todo = list(causality.streams())
    scanned: dict[Stream, int] = {}
    while todo:
        stream = todo.pop()
        dependants = causality.dependants(stream)
        start = bisect_right(dependants, positions.get(stream, 0), key=_seq)
        end, scanned[stream] = scanned.get(stream), start
        for dependant in dependants[start:end]:
            theirs = Stream(*dependant.event[:3])
            is_inside = dependant.event.seq <= positions.get(theirs, 0)
            if is_inside and causality.holds(stream.event(dependant.seq)):
                positions[theirs] = _before(causality, dependant.event)
                todo.append(theirs)
    return Cut({stream: seq for stream, seq in positions.items() if seq})


def _before(causality: Causality, event_id: EventId) -> int:
    """Position of the event before this one in its stream."""
    return causality.at_or_below(Stream(*event_id[:3]), event_id.seq - 1)
