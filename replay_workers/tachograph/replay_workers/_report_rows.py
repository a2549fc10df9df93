"""A run's events as rows of a time line: which there are, and what each says. Words are made only for rows that are shown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tachograph.core.causality import hlc_ms
from tachograph.replay_workers._report_bodies import Bodies
from tachograph.replay_workers._report_plain import plain
from tachograph.replay_workers._report_run import event_id_of
from tachograph.replay_workers._report_values import Row, RowKind
from tachograph.schemas import (
    AgentFinished,
    AgentStarted,
    ArtifactWritten,
    BodyErased,
    CallChunk,
    CallFinished,
    CallOutcome,
    CallStarted,
    Checkpointed,
    EffectState,
    EffectTransitioned,
    EndOutcome,
    Error,
    Event,
    EvidenceFrozen,
    MessageReceived,
    MessageSent,
    RunFinished,
    RunImported,
    RunStarted,
    StateChanged,
    TimerFired,
)

CallKey = tuple[str, int, int]
"""(agent_id, incarnation, `seq` of the CallStarted)."""

_TEXT_CHARACTERS_MAX = 400
_TOLD_BY_THE_CALL = (EffectState.PLANNED, EffectState.EXECUTING, EffectState.CONFIRMED)


@dataclass(frozen=True, slots=True)
class Mark:
    """A row before it has words."""

    event: Event
    kind: RowKind
    end: CallFinished | None = None
    """How the call came back, where it has."""
    start: CallStarted | None = None
    """For a row of its own in which a call comes back."""
    call: CallKey | None = None
    """For both ends of a call that something else happened in."""


def marks_of(events: Sequence[Event]) -> list[Mark]:
    """The rows of events in causal order."""
    calls = _pairs(events)
    marks: list[Mark] = []
    for event in events:
        mark = _mark(event, calls)
        if mark is not None:
            marks.append(mark)
    return marks


def row_of(number: int, mark: Mark, start_hlc: int, bodies: Bodies) -> Row:
    """A row with its words, all of them harmless."""
    event = mark.event
    text, outcome = _words(mark, bodies)
    return Row(
        number=number,
        event_id=event_id_of(event),
        at_ms=hlc_ms(event.meta.hlc) - hlc_ms(start_hlc),
        agent_id=event.meta.agent_id,
        kind=mark.kind,
        text=plain(text),
        outcome=plain(outcome),
        failed=mark.end is not None and mark.end.outcome is not CallOutcome.OK,
        towards=_towards(event),
        message_id=event.message_id if isinstance(event, MessageSent | MessageReceived) else None,
        call=mark.call,
    )


@dataclass(frozen=True, slots=True)
class _Calls:
    """Which end belongs to which start."""

    starts: dict[CallKey, CallStarted]
    ends: dict[CallKey, CallFinished | MessageReceived]
    overlapping: set[CallKey]
    """Calls in which something else of the same stream happened."""


def _pairs(events: Iterable[Event]) -> _Calls:
    calls = _Calls({}, {}, set())
    latest: dict[tuple[str, int], int] = {}
    for event in events:
        if isinstance(event, CallChunk | EffectTransitioned | TimerFired):
            continue
        stream = event.meta.agent_id, event.meta.incarnation
        if isinstance(event, CallStarted):
            calls.starts[*stream, event.meta.seq] = event
        elif isinstance(event, CallFinished | MessageReceived):
            calls.ends[*stream, event.call_id] = event
            if latest.get(stream) != event.call_id:
                calls.overlapping.add((*stream, event.call_id))
        latest[stream] = event.meta.seq
    return calls


def _mark(event: Event, calls: _Calls) -> Mark | None:
    """What one event shows; None where another row shows it already."""
    match event:
        case CallStarted():
            return _call_mark(event, calls)
        case CallFinished():
            return _back_mark(event, calls)
        case MessageSent():
            return Mark(event, "send")
        case MessageReceived():
            return Mark(event, "receive")
        case RunStarted() | AgentStarted():
            return Mark(event, "start")
        case RunFinished() | AgentFinished():
            return Mark(event, "end" if event.outcome is EndOutcome.OK else "failed")
        case StateChanged() | Checkpointed() | ArtifactWritten():
            return Mark(event, "fact")
        case _:
            return _other_mark(event)


def _back_mark(event: CallFinished, calls: _Calls) -> Mark | None:
    key = (event.meta.agent_id, event.meta.incarnation, event.call_id)
    start = calls.starts.get(key)
    if key not in calls.overlapping or start is None:
        return None
    if start.kind == "messages":
        return Mark(event, "read", event, start)
    return Mark(event, _back_kind(event), event, start, key)


def _back_kind(event: CallFinished) -> RowKind:
    if event.outcome is CallOutcome.UNKNOWN:
        return "unknown"
    return "back" if event.outcome is CallOutcome.OK else "failed"


def _other_mark(event: Event) -> Mark | None:
    match event:
        case EffectTransitioned():
            if event.to_state in _TOLD_BY_THE_CALL:
                return None
            return Mark(event, "unknown" if event.to_state is EffectState.UNKNOWN else "note")
        case EvidenceFrozen() | BodyErased() | RunImported():
            return Mark(event, "note")
        case TimerFired():
            return Mark(event, "read")
        case _:
            return None


def _call_mark(event: CallStarted, calls: _Calls) -> Mark | None:
    key = (event.meta.agent_id, event.meta.incarnation, event.meta.seq)
    end = calls.ends.get(key)
    if event.kind == "messages":
        return None if end is not None else Mark(event, "unknown")
    finished = end if isinstance(end, CallFinished) else None
    kind = _call_kind(event, finished)
    return Mark(event, kind, finished, call=key if key in calls.overlapping else None)


def _call_kind(event: CallStarted, end: CallFinished | None) -> RowKind:
    if end is None or end.outcome is CallOutcome.UNKNOWN:
        return "unknown"
    if event.effect == "write":
        return "effect"
    if end.outcome is not CallOutcome.OK:
        return "failed"
    return "read" if event.kind in ("clock", "random", "id") else "call"


def _towards(event: Event) -> str | None:
    if isinstance(event, MessageSent):
        return event.to_agent_id
    return event.from_agent_id if isinstance(event, MessageReceived) else None


def _words(mark: Mark, bodies: Bodies) -> tuple[str, str]:
    """What a row says, and what came of it."""
    event = mark.event
    event_id = event_id_of(event)
    match event:
        case CallStarted(kind="messages"):
            return "waits for a message", "none came"
        case CallStarted():
            return _call_words(event, mark, bodies)
        case CallFinished():
            return _back_words(mark.start), _outcome(event, bodies)
        case MessageSent():
            return f"sends to {event.to_agent_id}", bodies.text(event.body, event_id, _TEXT_CHARACTERS_MAX)
        case MessageReceived():
            return f"receives from {event.from_agent_id}", bodies.text(event.body, event_id, _TEXT_CHARACTERS_MAX)
        case RunStarted() | AgentStarted() | RunFinished() | AgentFinished():
            return _life_words(event, bodies)
        case StateChanged() | Checkpointed() | ArtifactWritten():
            return _fact_words(event, bodies)
        case _:
            return _other_words(event)


def _call_words(event: CallStarted, mark: Mark, bodies: Bodies) -> tuple[str, str]:
    shown = bodies.text(event.arguments, event_id_of(event), _TEXT_CHARACTERS_MAX)
    arguments = "()" if shown == "null" else shown if shown.startswith("(") else f"({shown})"
    head = f"{event.kind} {event.name}{arguments}"
    if mark.end is None:
        return head, "never came back"
    return head, "…" if mark.call is not None else _outcome(mark.end, bodies)


def _back_words(start: CallStarted | None) -> str:
    if start is None:
        return "a call came back"
    return "stops waiting for a message" if start.kind == "messages" else f"{start.kind} {start.name} came back"


def _outcome(event: CallFinished, bodies: Bodies) -> str:
    if event.error is not None:
        return f"{event.outcome} {_error(event.error)}"
    if event.unrecorded is not None:
        return f"{event.outcome}, result not recorded: {event.unrecorded}"
    if event.result is None:
        return f"{event.outcome}, {event.chunks} pieces" if event.chunks else str(event.outcome)
    return bodies.text(event.result, event_id_of(event), _TEXT_CHARACTERS_MAX)


def _error(error: Error) -> str:
    return f"{error.type.rpartition('.')[2]}: {error.message}"[:_TEXT_CHARACTERS_MAX]


def _life_words(event: RunStarted | AgentStarted | RunFinished | AgentFinished, bodies: Bodies) -> tuple[str, str]:
    match event:
        case RunStarted():
            return f"{event.name} starts", ""
        case AgentStarted():
            return f"starts: {event.role}" if event.role not in ("", event.meta.agent_id) else "starts", ""
        case RunFinished() | AgentFinished():
            if event.error is not None:
                return "ends", f"{event.outcome} {_error(event.error)}"
            result = bodies.text(event.result, event_id_of(event), _TEXT_CHARACTERS_MAX)
            return "ends", f"{event.outcome} {result}" if result not in ("", "null") else str(event.outcome)


def _fact_words(event: StateChanged | Checkpointed | ArtifactWritten, bodies: Bodies) -> tuple[str, str]:
    match event:
        case StateChanged():
            return f"sets {event.key}", bodies.text(event.value, event_id_of(event), _TEXT_CHARACTERS_MAX)
        case Checkpointed():
            return f"checkpoint {event.name}", ""
        case ArtifactWritten():
            return f"writes {event.name}", f"{event.media_type}, {event.body.size} bytes"


def _other_words(event: Event) -> tuple[str, str]:
    match event:
        case EffectTransitioned():
            reason = f": {event.reason}" if event.reason else ""
            return f"effect {event.name} is {event.to_state}", f"by {event.by}{reason}"[:_TEXT_CHARACTERS_MAX]
        case EvidenceFrozen():
            return f"evidence frozen by {event.by}", event.reason[:_TEXT_CHARACTERS_MAX]
        case BodyErased():
            return f"body {event.digest.hex()[:12]} erased by {event.by}", event.reason[:_TEXT_CHARACTERS_MAX]
        case RunImported():
            return f"imported from {event.source}", f"fidelity {event.fidelity}"
        case TimerFired():
            return "a timer fires", f"set for {event.delay_us / 1_000_000:g} s"
        case _:
            return type(event).__name__, ""
