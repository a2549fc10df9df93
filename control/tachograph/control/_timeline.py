"""A run's events as rows of a space-time diagram: one lane per agent, time downwards. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from tachograph.control._calls import Calls, calls_of
from tachograph.core.causality import EventId, hlc_ms
from tachograph.schemas import (
    AgentFinished,
    AgentStarted,
    ArtifactWritten,
    Body,
    BodyErased,
    CallFinished,
    CallOutcome,
    CallStarted,
    Checkpointed,
    EffectState,
    EffectTransitioned,
    EndOutcome,
    Error,
    Event,
    EventMeta,
    EvidenceFrozen,
    MessageReceived,
    MessageSent,
    RunFinished,
    RunImported,
    RunStarted,
    StateChanged,
    TimerFired,
)

RowKind = Literal[
    "start", "call", "read", "effect", "unknown", "failed", "back", "send", "receive", "fact", "end", "note"
]
Preview = Callable[[Body, str], str]
"""A body in few characters; the second argument is its event's id."""


@dataclass(frozen=True, slots=True)
class Lane:
    """One agent's column."""

    agent_id: str
    role: str
    first: int
    """Row in which it begins."""
    last: int
    """Row in which it ends."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the diagram."""

    event_id: str
    at_ms: int
    """Since the run's first event, by the hybrid logical clock."""
    agent_id: str
    kind: RowKind
    text: str
    towards: str | None = None
    """For a message: the other agent."""
    outcome: str = ""
    """For a call: what came back, `…` where something else happened first."""
    trace: str | None = None
    """W3C traceparent of the span that surrounded it."""


@dataclass(frozen=True, slots=True)
class Timeline:
    """A diagram."""

    lanes: tuple[Lane, ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class _Told:
    """What one event says."""

    kind: RowKind
    text: str
    towards: str | None = None
    outcome: str = ""


def timeline_of(events: Iterable[Event], preview: Preview) -> Timeline:
    """Lay out a run's events; they may come in any order."""
    ordered = sorted(events, key=_causal_order)
    calls = calls_of(ordered)
    rows: list[Row] = []
    for event in ordered:
        told = _tell(event, calls, preview)
        if told is not None:
            rows.append(_row(event.meta, hlc_ms(ordered[0].meta.hlc), told))
    return Timeline(_lanes(ordered, rows), tuple(rows))


def _causal_order(event: Event) -> tuple[int, str, int, int]:
    return event.meta.hlc, event.meta.agent_id, event.meta.incarnation, event.meta.seq


def event_id_of(meta: EventMeta) -> str:
    """An event's id as text."""
    return str(EventId(meta.run_id, meta.agent_id, meta.incarnation, meta.seq))


def _row(meta: EventMeta, start_ms: int, told: _Told) -> Row:
    at_ms = hlc_ms(meta.hlc) - start_ms
    return Row(event_id_of(meta), at_ms, meta.agent_id, told.kind, told.text, told.towards, told.outcome, meta.trace)


def _lanes(events: Sequence[Event], rows: Sequence[Row]) -> tuple[Lane, ...]:
    roles = {event.meta.agent_id: event.role for event in events if isinstance(event, AgentStarted)}
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    for number, row in enumerate(rows):
        first.setdefault(row.agent_id, number)
        last[row.agent_id] = number
    return tuple(Lane(agent, roles.get(agent, ""), first[agent], last[agent]) for agent in first)


def _tell(event: Event, calls: Calls, preview: Preview) -> _Told | None:
    """What one event says in the diagram; None where another row says it already."""
    match event:
        case CallStarted() | CallFinished() | MessageReceived() | MessageSent():
            return _tell_call(event, calls, preview)
        case RunStarted() | AgentStarted() | RunFinished() | AgentFinished():
            return _tell_life(event, preview)
        case EffectTransitioned():
            return _tell_effect(event)
        case StateChanged() | Checkpointed() | ArtifactWritten():
            return _Told("fact", _fact_text(event, preview))
        case EvidenceFrozen() | BodyErased() | RunImported():
            return _Told("note", _note_text(event))
        case TimerFired():
            return _Told("read", "a timer fires")
        case _:
            return None


def _tell_call(
    event: CallStarted | CallFinished | MessageReceived | MessageSent, calls: Calls, preview: Preview
) -> _Told | None:
    event_id = event_id_of(event.meta)
    match event:
        case MessageSent():
            text = f"sends to {event.to_agent_id}: {preview(event.body, event_id)}"
            return _Told("send", text, event.to_agent_id)
        case MessageReceived():
            text = f"receives from {event.from_agent_id}: {preview(event.body, event_id)}"
            return _Told("receive", text, event.from_agent_id)
        case CallStarted(kind="messages"):
            return None if calls.end_of(event) else _Told("unknown", "waits for a message: none comes")
        case CallStarted():
            return _call_row(event, calls, preview)
        case CallFinished():
            return _back_row(event, calls, preview)


def _call_row(event: CallStarted, calls: Calls, preview: Preview) -> _Told:
    head = f"{event.kind} {event.name}{_arguments(preview(event.arguments, event_id_of(event.meta)))}"
    end = calls.end_of(event)
    if not isinstance(end, CallFinished):
        return _Told(_call_kind(event, None), head, outcome="never came back")
    if calls.overlaps(event):
        return _Told(_call_kind(event, end), head, outcome="…")
    return _Told(_call_kind(event, end), head, outcome=_outcome(end, preview))


def _call_kind(event: CallStarted, end: CallFinished | None) -> RowKind:
    if end is None or end.outcome is CallOutcome.UNKNOWN:
        return "unknown"
    if event.effect == "write":
        return "effect"
    if end.outcome is not CallOutcome.OK:
        return "failed"
    return "read" if event.kind in ("clock", "random", "id") else "call"


def _back_row(event: CallFinished, calls: Calls, preview: Preview) -> _Told | None:
    start = calls.start_of(event)
    if start is None or start.kind == "messages" or not calls.overlaps(start):
        return None
    kind: RowKind = "unknown" if event.outcome is CallOutcome.UNKNOWN else "back"
    return _Told(kind, f"{start.kind} {start.name} came back", outcome=_outcome(event, preview))


def _outcome(event: CallFinished, preview: Preview) -> str:
    if event.error is not None:
        return f"{event.outcome} {_error(event.error)}"
    if event.unrecorded is not None:
        return f"{event.outcome}, result not recorded: {event.unrecorded}"
    if event.result is None:
        return f"{event.outcome}, {event.chunks} pieces" if event.chunks else str(event.outcome)
    return preview(event.result, event_id_of(event.meta))


def _error(error: Error) -> str:
    return f"{error.type.rpartition('.')[2]}: {error.message}"


def _arguments(shown: str) -> str:
    """Whatever the arguments are, they stand in brackets."""
    if shown == "null":
        return "()"
    return shown if shown.startswith("(") else f"({shown})"


def _tell_life(event: RunStarted | AgentStarted | RunFinished | AgentFinished, preview: Preview) -> _Told:
    match event:
        case RunStarted():
            return _Told("start", f"run {event.name} starts")
        case AgentStarted():
            return _Told("start", f"starts: {event.role}" if event.role else "starts")
        case RunFinished() | AgentFinished():
            return _end(event, "run ends" if isinstance(event, RunFinished) else "ends", preview)


def _end(event: RunFinished | AgentFinished, what: str, preview: Preview) -> _Told:
    if event.error is not None:
        return _Told("failed", what, outcome=f"{event.outcome} {_error(event.error)}")
    result = "null" if event.result is None else preview(event.result, event_id_of(event.meta))
    kind: RowKind = "end" if event.outcome is EndOutcome.OK else "failed"
    return _Told(kind, what, outcome=str(event.outcome) if result == "null" else f"{event.outcome} {result}")


_TOLD_BY_THE_CALL = (EffectState.PLANNED, EffectState.EXECUTING, EffectState.CONFIRMED)


def _tell_effect(event: EffectTransitioned) -> _Told | None:
    if event.to_state in _TOLD_BY_THE_CALL:
        return None
    reason = f": {event.reason}" if event.reason else ""
    kind: RowKind = "unknown" if event.to_state is EffectState.UNKNOWN else "note"
    return _Told(kind, f"effect {event.name} is {event.to_state} (by {event.by}){reason}")


def _fact_text(event: StateChanged | Checkpointed | ArtifactWritten, preview: Preview) -> str:
    event_id = event_id_of(event.meta)
    match event:
        case StateChanged():
            return f"sets {event.key} = {preview(event.value, event_id)}"
        case Checkpointed():
            return f"checkpoint {event.name}"
        case ArtifactWritten():
            return f"writes {event.name} ({event.media_type}, {event.body.size} bytes)"


def _note_text(event: EvidenceFrozen | BodyErased | RunImported) -> str:
    match event:
        case EvidenceFrozen():
            return f"evidence frozen by {event.by}: {event.reason}"
        case BodyErased():
            return f"body {event.digest.hex()[:12]} erased by {event.by}: {event.reason}"
        case RunImported():
            return f"imported from {event.source}, fidelity {event.fidelity}"
