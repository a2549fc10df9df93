"""The state of a fleet at a cut, from what its runs recorded."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tachograph.core.causality import EventId
from tachograph.core.cut import Causality, Cut, Links, Proof, Skew, Stream, fleet_of, proof
from tachograph.core.errors import CallerError
from tachograph.core.findings import RunRow
from tachograph.core.ports import EventLog, Stored
from tachograph.core.state import RunState, empty, fold
from tachograph.schemas import EventMeta, UnsupportedSchema, decode, decode_meta, is_optional

_PLACES_MAX = 5
"""Places named in an error."""

_ARCHIVED = re.compile(r"/segments/(?P<topic>[^/]+)/(?P<partition>[0-9]+)/[0-9]+-(?P<last>[0-9]+)-[^/]*$")

_OFFSET = re.compile(r"(?P<place>[^,]+):(?P<offset>[0-9]{1,18})")


@dataclass(frozen=True, slots=True)
class FleetState:
    """What a fleet was at a cut."""

    cut: Cut
    proof: Proof
    skews: tuple[Skew, ...]
    """Clocks that ran too far ahead to be followed."""
    runs: Mapping[str, RunState]
    """Run id to state; a run that had not begun is UNSEEN."""


class InvalidOffsets(CallerError):
    """Offsets that cannot be read."""

    def __init__(self, text: str, reason: str, places: Sequence[str] = ()) -> None:
        self.text = text
        known = f"; they lie in {', '.join(places[:_PLACES_MAX])}" if places else ""
        super().__init__(f"offsets {text!r}: {reason}{known}. Give PLACE:OFFSET, several with commas.")


def linked_runs(rows: Iterable[RunRow], run_id: str) -> tuple[str, ...]:
    """The run and all that are linked with it by parentage or effects; messages stay within a run.

    Args:
        rows: of every run, as the catalogue has them.
        run_id: one of them.
    """
    links = Links()
    known: set[str] = set()
    for row in rows:
        known.add(row.run_id)
        links.parent(row.run_id, row.parent_run_id)
        links.others(row.run_id, row.linked)
    return tuple(run for run in fleet_of(links.as_mapping(), run_id) if run in known)


def causality_of(log: EventLog, run_ids: Iterable[str]) -> Causality:
    """Streams, clocks and causes of runs.

    Raises:
        UnknownRun: there is no such run.
        CorruptFrame: the bytes are not what was written.
    """
    causality = Causality()
    for run_id in run_ids:
        for meta, _ in _heads(log.read_run(run_id)):
            causality.add(_event_id(meta), meta.hlc, _causes(meta))
    return causality


def positions_at(log: EventLog, run_ids: Iterable[str], text: str) -> dict[Stream, int]:
    """Where each stream stands at offsets of the log: the last event that lies below them.

    Args:
        log: where the runs lie.
        run_ids: the runs.
        text: `PLACE:OFFSET`, several with commas; an offset is that of the first event outside. Places that are not
            named limit nothing. Of a Kafka partition, `TOPIC/PARTITION:OFFSET`, the archive's segments are inside that
            end before the offset.

    Raises:
        InvalidOffsets: the text cannot be read, or names a place where none of these runs lies.
    """
    limits = offsets_of(text)
    positions: dict[Stream, int] = {}
    stopped: set[Stream] = set()
    places: set[str] = set()
    for run_id in run_ids:
        for meta, stored in _heads(log.read_run(run_id)):
            stream = Stream(*_event_id(meta)[:3])
            place, offset = place_in(stored.segment) or (stored.segment, stored.offset)
            places |= {stored.segment, place}
            limit = limits.get(stored.segment, limits.get(place))
            if limit is not None and (stored.offset if stored.segment in limits else offset) >= limit:
                stopped.add(stream)
            if stream not in stopped:
                positions[stream] = meta.seq
    if not limits.keys() <= places:
        raise InvalidOffsets(text, f"nothing of these runs lies in {min(limits.keys() - places)!r}", sorted(places))
    return positions


def state_at(
    log: EventLog, run_ids: Sequence[str], make: Callable[[Causality], Cut], causality: Causality | None = None
) -> FleetState:
    """The state of runs at a cut.

    Args:
        log: where the runs lie.
        run_ids: the runs that are cut together.
        make: chooses the cut.
        causality: of these runs, where it is known already.
    """
    known = causality_of(log, run_ids) if causality is None else causality
    cut = make(known)
    runs = {run_id: _folded(log, run_id, cut) for run_id in run_ids}
    return FleetState(cut, proof(known, cut), tuple(known.skews()), runs)


def _folded(log: EventLog, run_id: str, cut: Cut) -> RunState:
    state = empty(run_id)
    for meta, stored in _heads(log.read_run(run_id)):
        if cut.holds(_event_id(meta)):
            try:
                fold(state, decode(stored.payload))
            except UnsupportedSchema:
                if not is_optional(stored.payload):
                    raise
    return state


def place_in(segment: str) -> tuple[str, int] | None:
    """Where an archived segment lies, as a person names it: a partition, and the segment's last offset there."""
    archived = _ARCHIVED.search(segment)
    return None if archived is None else (f"{archived['topic']}/{archived['partition']}", int(archived["last"]))


def _heads(events: Iterator[Stored]) -> Iterator[tuple[EventMeta, Stored]]:
    return ((decode_meta(stored.payload), stored) for stored in events)


def _event_id(meta: EventMeta) -> EventId:
    return EventId(meta.run_id, meta.agent_id, meta.incarnation, meta.seq)


def _causes(meta: EventMeta) -> tuple[EventId, ...]:
    return tuple(EventId(cause.run_id, cause.agent_id, cause.incarnation, cause.seq) for cause in meta.causes)


def offsets_of(text: str) -> dict[str, int]:
    """Place to the first offset outside.

    Raises:
        InvalidOffsets: the text cannot be read.
    """
    matches = [_OFFSET.fullmatch(part.strip()) for part in text.split(",")]
    if not all(matches):
        raise InvalidOffsets(text, "they are not of the form PLACE:OFFSET")
    return {match["place"]: int(match["offset"]) for match in matches if match is not None}
