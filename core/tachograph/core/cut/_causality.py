"""What matters for cuts of a fleet's events: streams, clocks, and the causes between streams."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tachograph.core.causality import EventId, hlc_ms
from tachograph.core.errors import CallerError


class Stream(NamedTuple):
    """The events of one agent in one of its lives."""

    run_id: str
    agent_id: str
    incarnation: int

    def event(self, seq: int) -> EventId:
        """The event at a position."""
        return EventId(self.run_id, self.agent_id, self.incarnation, seq)


class Edge(NamedTuple):
    """An event that depends on one of another stream."""

    seq: int
    cause: EventId


class Dependant(NamedTuple):
    """An event of another stream that depends on one of this."""

    seq: int
    """Of the cause, in this stream."""
    event: EventId


@dataclass(frozen=True, slots=True)
class Skew:
    """A clock that ran so far ahead that the receiver did not follow it: the order of times is not that of causes here."""

    event_id: EventId
    cause: EventId
    ahead_ms: int
    """How far the cause's clock stood ahead of the event's."""


class UnknownEvent(CallerError):
    """No such event."""

    def __init__(self, event_id: EventId) -> None:
        self.event_id = event_id
        super().__init__(
            f"there is no event {str(event_id)!r} here; `tacho timeline RUN` shows the ids of a run's events."
        )


@dataclass(slots=True)
class _Line:
    """One stream, ascending by `seq`."""

    seqs: array[int]
    peaks: array[int]
    """The highest clock so far at each event: a clock that was set back hides nothing from a cut."""
    edges: list[Edge]
    dependants: list[Dependant]
    is_sorted: bool = True
    """Whether the dependants are in order."""


class Causality:
    """Grows by one event after the other; every stream's in order of `seq`, the streams in any order.

    Args:
        base: a closed cut that everything here builds on, as a snapshot gives: its events need not be added.
        ahead: streams of which is known that they go on up to a `seq`, though not all of it is added.
    """

    def __init__(self, base: Mapping[Stream, int] | None = None, ahead: Mapping[Stream, int] | None = None) -> None:
        self.base: Mapping[Stream, int] = {} if base is None else dict(base)
        self.ahead: Mapping[Stream, int] = {} if ahead is None else dict(ahead)
        self._lines: dict[Stream, _Line] = {}

    def add(self, event_id: EventId, hlc: int, causes: Sequence[EventId] = ()) -> None:
        """Take an event in; one at or below its stream's position is passed over."""
        stream = Stream(*event_id[:3])
        line = self._line(stream)
        if event_id.seq <= max(line.seqs[-1] if line.seqs else 0, self.base.get(stream, 0)):
            return
        line.seqs.append(event_id.seq)
        line.peaks.append(max(hlc, line.peaks[-1]) if line.peaks else hlc)
        for cause in causes:
            line.edges.append(Edge(event_id.seq, cause))
            theirs = self._line(Stream(*cause[:3]))
            theirs.dependants.append(Dependant(cause.seq, event_id))
            theirs.is_sorted = False

    def streams(self) -> list[Stream]:
        """Every stream with an event here, in the base or ahead, sorted."""
        here = {stream for stream, line in self._lines.items() if line.seqs}
        return sorted(here | self.base.keys() | self.ahead.keys())

    def holds(self, event_id: EventId) -> bool:
        """Whether the event is here, below the base, or known to be ahead."""
        stream = Stream(*event_id[:3])
        if 0 < event_id.seq <= max(self.base.get(stream, 0), self.ahead.get(stream, 0)):
            return True
        line = self._lines.get(stream)
        if line is None:
            return False
        at = bisect_left(line.seqs, event_id.seq)
        return at < len(line.seqs) and line.seqs[at] == event_id.seq

    def require(self, event_id: EventId) -> None:
        """Refuse an event that is not here.

        Raises:
            UnknownEvent: it is not.
        """
        if not self.holds(event_id):
            raise UnknownEvent(event_id)

    def last(self, stream: Stream) -> int:
        """The highest `seq`; 0 where there is none."""
        line = self._lines.get(stream)
        return line.seqs[-1] if line is not None and line.seqs else self.base.get(stream, 0)

    def last_by(self, stream: Stream, hlc: int) -> int:
        """The highest `seq` up to which no clock stood higher than `hlc`; 0 where there is none."""
        line = self._lines.get(stream)
        below = self.base.get(stream, 0)
        if line is None:
            return below
        count = bisect_right(line.peaks, hlc)
        return line.seqs[count - 1] if count else below

    def at_or_below(self, stream: Stream, seq: int) -> int:
        """The highest `seq` there is up to this one; 0 where there is none."""
        line = self._lines.get(stream)
        below = self.base.get(stream, 0)
        if line is None:
            return min(seq, below)
        count = bisect_right(line.seqs, seq)
        return line.seqs[count - 1] if count else min(seq, below)

    def count(self, stream: Stream, first: int, last: int) -> int:
        """How many events there are from one `seq` to another, both counted."""
        line = self._lines.get(stream)
        above = 0 if line is None else bisect_right(line.seqs, last) - bisect_left(line.seqs, first)
        return above + max(0, min(last, self.base.get(stream, 0)) - first + 1)

    def edges(self, stream: Stream) -> Sequence[Edge]:
        """The causes in other streams, ascending by the `seq` of what depends on them."""
        line = self._lines.get(stream)
        return () if line is None else line.edges

    def dependants(self, stream: Stream) -> Sequence[Dependant]:
        """What depends on events of this stream, ascending by the `seq` of the cause."""
        line = self._lines.get(stream)
        if line is None:
            return ()
        if not line.is_sorted:
            line.dependants.sort()
            line.is_sorted = True
        return line.dependants

    def skews(self) -> Iterator[Skew]:
        """Where a cause's clock is not below that of what depends on it."""
        for stream in self.streams():
            for edge in self.edges(stream):
                mine, theirs = self._peak(stream, edge.seq), self._peak(Stream(*edge.cause[:3]), edge.cause.seq)
                if theirs is not None and mine is not None and theirs >= mine:
                    yield Skew(stream.event(edge.seq), edge.cause, hlc_ms(theirs) - hlc_ms(mine))

    def _peak(self, stream: Stream, seq: int) -> int | None:
        line = self._lines.get(stream)
        if line is None:
            return None
        at = bisect_left(line.seqs, seq)
        return line.peaks[at] if at < len(line.seqs) and line.seqs[at] == seq else None

    def _line(self, stream: Stream) -> _Line:
        line = self._lines.get(stream)
        if line is None:
            line = self._lines[stream] = _Line(array("Q"), array("Q"), [], [])
        return line
