"""The time line of a run: its rows around what matters, divergences marked."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from tachograph.core.causality import EventId
from tachograph.core.errors import InvalidIdentifier
from tachograph.core.replay import Divergence, Verdict, steps_of
from tachograph.replay_workers._report_bodies import Bodies
from tachograph.replay_workers._report_rows import Mark, marks_of, row_of
from tachograph.replay_workers._report_run import Recorded
from tachograph.replay_workers._report_values import Row, RowKind, Timeline
from tachograph.replay_workers._report_window import Anchor, window
from tachograph.schemas import Body, Event

Stream = tuple[str, int]
"""(agent_id, incarnation)."""

_WEIGHTS: dict[RowKind, int] = {"unknown": 1, "effect": 3, "failed": 4}
_NAMES = ("divergences", "UNKNOWN effects", "what signatures name", "effects", "failures")


def timeline_of(
    recorded: Recorded, verdict: Verdict, named: Iterable[str], bodies: Bodies, *, is_fork: bool
) -> Timeline:
    """The time line of a run.

    Args:
        recorded: the run.
        verdict: of its replay, or of the fork that it is.
        named: ids of events that signatures name.
        bodies: of its home.
        is_fork: the run is a fork, so the events that divergences name are its parent's.
    """
    events = recorded.events
    if not events:
        return Timeline(recorded.state.run_id)
    marks = marks_of(events)
    places = _Places(marks)
    diverging = _diverging(events, verdict, places, is_fork=is_fork)
    anchors = list(_anchors(marks, diverging, filter(None, map(places.of_event, named))))
    shown = window(len(marks), anchors)
    start = events[0].meta.hlc
    rows = [_marked(row_of(number, marks[number], start, bodies), diverging, verdict) for number in shown]
    around = "" if len(shown) == len(marks) else _around(anchors)
    return Timeline(recorded.state.run_id, tuple(rows), len(marks), around)


class _Places:
    """Finds the row of an event: its own, else the next one of its stream, which tells it."""

    def __init__(self, marks: Sequence[Mark]) -> None:
        self._by_stream: dict[Stream, list[tuple[int, int]]] = {}
        for number, mark in enumerate(marks):
            meta = mark.event.meta
            self._by_stream.setdefault((meta.agent_id, meta.incarnation), []).append((meta.seq, number))

    def of(self, stream: Stream, seq: int | None) -> int | None:
        """The row of an event; of the stream's end for None."""
        rows = self._by_stream.get(stream)
        if not rows:
            return None
        if seq is None:
            return rows[-1][1]
        return rows[min(bisect_left(rows, (seq, 0)), len(rows) - 1)][1]

    def of_event(self, event_id: str) -> int | None:
        """The row of an event by its id."""
        try:
            parsed = EventId.parse(event_id)
        except InvalidIdentifier:
            return None
        return self.of((parsed.agent_id, parsed.incarnation), parsed.seq)


def _diverging(
    events: Sequence[Event], verdict: Verdict, places: _Places, *, is_fork: bool
) -> Mapping[int, Divergence]:
    """Row number to the divergence found there; the first one wins where two meet."""
    first = verdict.first_divergence
    divergences = ([first] if first is not None else []) + [one for one in verdict.divergences if one != first]
    steps = _step_seqs(events) if is_fork and divergences else None
    found: dict[int, Divergence] = {}
    for divergence in divergences:
        number = places.of((divergence.agent_id, divergence.incarnation), _seq(divergence, steps))
        if number is not None:
            found.setdefault(number, divergence)
    return found


def _seq(divergence: Divergence, steps: Mapping[Stream, Sequence[int]] | None) -> int | None:
    """Where in its stream a divergence stands; None for its end."""
    if steps is None:
        return divergence.recorded.seq if divergence.recorded is not None else None
    own = steps.get((divergence.agent_id, divergence.incarnation), ())
    return own[divergence.step - 1] if 0 < divergence.step <= len(own) else None


def _step_seqs(events: Sequence[Event]) -> dict[Stream, list[int]]:
    """`seq` of every step of every stream; payloads do not matter for that, so that none is read."""

    def nothing(body: Body, event_id: str) -> bytes:
        return b"null"

    return {stream: [step.seq for step in steps.steps] for stream, steps in steps_of(events, nothing).items()}


def _anchors(marks: Sequence[Mark], diverging: Iterable[int], named: Iterable[int]) -> Iterator[Anchor]:
    yield from (Anchor(number, 0) for number in diverging)
    yield from (Anchor(number, 2) for number in named)
    for number, mark in enumerate(marks):
        weight = _WEIGHTS.get(mark.kind)
        if weight is not None:
            yield Anchor(number, weight)


def _around(anchors: Iterable[Anchor]) -> str:
    """What the window was chosen by, in words."""
    weights = sorted({anchor.weight for anchor in anchors})
    names = [_NAMES[weight] for weight in weights]
    if not names:
        return "the beginning and the end"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _marked(row: Row, diverging: Mapping[int, Divergence], verdict: Verdict) -> Row:
    found = diverging.get(row.number)
    if found is None:
        return row
    return replace(row, diverges=found.kind.value, is_first_divergence=found == verdict.first_divergence)
