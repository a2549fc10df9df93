"""`--at`: a moment of a fleet, as a person says it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from tachograph.core.causality import EventId, hlc_ms
from tachograph.core.cut import Causality, Cut, Stream, cut_at_event, cut_at_positions, cut_at_time
from tachograph.core.errors import CallerError
from tachograph.core.replay import step_positions
from tachograph.schemas import Event, decode_meta
from tachograph.stores import At, Home, archived_positions, archived_step, positions_at

HELP = (
    "when: an event (AGENT#1.7, or a whole event id), a step (AGENT:3), a time (ISO 8601, 14:03:07.5, or +1.5s after the "
    "run's start), or offsets of the log (PLACE:OFFSET,…); default: the end"
)

_AFTER = re.compile(r"\+(?P<number>[0-9]{1,18}(?:\.[0-9]{1,18})?)(?P<unit>ms|s|m|h)?")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_CLOCK = re.compile(r"[0-9]{1,2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?")
_DATED = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}([T ].*)?")
_EVENT = re.compile(r"(?P<agent>[^#]+)#(?P<incarnation>[0-9]{1,18})\.(?P<seq>[0-9]{1,18})")
_STEP = re.compile(r"(?P<agent>[^#]+)(#(?P<incarnation>[0-9]{1,18}))?:(?P<number>[0-9]{1,18})")

_WHOLE = re.compile(r"run-[^/#]*/.+")
"""An event id that names its run; an agent may be called `run-…`, too."""

_EPOCH = datetime.fromtimestamp(0, UTC)
_MS = timedelta(milliseconds=1)
_YEARS_MS = (
    (datetime.min.replace(tzinfo=UTC) - _EPOCH) // _MS,
    (datetime.max.replace(tzinfo=UTC) - _EPOCH) // _MS,
)
"""The first and the last millisecond that a calendar can show."""

_END_OF_MS = (1 << 16) - 1
"""Every count within a millisecond: a time stands for all that happened in its last one."""


@dataclass(frozen=True, slots=True)
class Moment:
    """A cut, and how to speak of it."""

    text: str
    make: Callable[[Causality], Cut]
    at: At = None
    """The same as data: a snapshot may lie before it."""


class UnknownMoment(CallerError):
    """A moment that cannot be found in the run."""

    def __init__(self, text: str, reason: str) -> None:
        self.text = text
        super().__init__(f"--at {text!r}: {reason}. Say {HELP.removeprefix('when: ')}.")


def moment_of(text: str | None, home: Home, run_ids: Sequence[str], events: Callable[[], Sequence[Event]]) -> Moment:
    """The moment that a text names.

    Args:
        text: as in HELP; None: the end.
        home: where the runs lie.
        run_ids: of the fleet; the first is the run that was asked for.
        events: gives those of that run; asked for where a step is named.

    Raises:
        UnknownMoment: there is none.
    """
    if text is None:
        return Moment("the end", _end)
    named = _event(text, run_ids[0]) or _step(text, home, run_ids[0], events)
    if named is not None:
        return Moment(str(named), lambda known: cut_at_event(known, named), named)
    start_ms = _started_ms(home, run_ids[0])
    at_ms = _time_ms(text, start_ms)
    if at_ms is not None:
        if not _YEARS_MS[0] <= at_ms <= _YEARS_MS[1]:
            raise UnknownMoment(text, "it lies outside the years 1 to 9999")
        until = at_ms << 16 | _END_OF_MS
        return Moment(_time_text(at_ms, start_ms), lambda known: cut_at_time(known, until), until)
    if _CLOCK.fullmatch(text) or _DATED.fullmatch(text):
        raise UnknownMoment(text, "no calendar or clock has such a time")
    if ":" in text:
        positions = _positions(home, run_ids, text)
        return Moment(text, lambda known: cut_at_positions(known, positions), positions)
    raise UnknownMoment(text, "it is none of these")


def event_of(text: str, run_id: str | None) -> EventId | None:
    """An event id, whole or without its run; None where it is neither."""
    return _event(text, run_id)


def _event(text: str, run_id: str | None) -> EventId | None:
    match = _EVENT.fullmatch(text)
    if match is None:
        return None
    if run_id is None or _WHOLE.fullmatch(text):
        return EventId.parse(text)
    return EventId(run_id, match["agent"], int(match["incarnation"]), int(match["seq"]))


def _end(known: Causality) -> Cut:
    return Cut({stream: known.last(stream) for stream in known.streams()})


def _started_ms(home: Home, run_id: str) -> int:
    """When a run began, milliseconds since 1970; only its first event is read."""
    return next((hlc_ms(decode_meta(stored.payload).hlc) for stored in home.log.read_run(run_id)), 0)


def _positions(home: Home, run_ids: Sequence[str], text: str) -> Mapping[Stream, int]:
    """Offsets as positions of streams; of one run alone they are known without reading it."""
    known = archived_positions(home, run_ids[0], text) if len(run_ids) == 1 else None
    return positions_at(home.log, run_ids, text) if known is None else known


def _step(text: str, home: Home, run_id: str, events: Callable[[], Sequence[Event]]) -> EventId | None:
    match = _STEP.fullmatch(text)
    if match is None:
        return None
    agent, life, number = match["agent"], match["incarnation"], int(match["number"])
    known = archived_step(home, run_id, agent, None if life is None else int(life), number)
    if known is None:
        return _step_read(match, run_id, events)
    if known.event_id is None:
        raise UnknownMoment(text, f"agent {agent!r} took {known.steps} steps in its life {known.incarnation}")
    return known.event_id


def _step_read(match: re.Match[str], run_id: str, events: Callable[[], Sequence[Event]]) -> EventId | None:
    agent, text = match["agent"], match[0]
    steps = step_positions(events())
    lives = [incarnation for agent_id, incarnation in steps if agent_id == agent]
    if not lives:
        return None
    incarnation = max(lives) if match["incarnation"] is None else int(match["incarnation"])
    seqs = steps.get((agent, incarnation), ())
    number = int(match["number"])
    if not 1 <= number <= len(seqs):
        raise UnknownMoment(text, f"agent {agent!r} took {len(seqs)} steps in its life {incarnation}")
    return EventId(run_id, agent, incarnation, seqs[number - 1])


def _time_ms(text: str, start_ms: int) -> int | None:
    after = _AFTER.fullmatch(text)
    if after is not None:
        return start_ms + round(float(after["number"]) * _SECONDS[after["unit"] or "s"] * 1000)
    if _CLOCK.fullmatch(text):
        day = datetime.fromtimestamp(start_ms / 1000, UTC).date().isoformat()
        text = f"{day}T{text.zfill(5)}"
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return (moment - _EPOCH) // _MS


def _time_text(at_ms: int, start_ms: int) -> str:
    shown = (_EPOCH + at_ms * _MS).isoformat(" ", "milliseconds")
    return f"{shown} ({(at_ms - start_ms) / 1000:+.3f} s)"
