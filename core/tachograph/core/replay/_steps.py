"""From a run's events to the steps of its streams."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from tachograph.core.causality import EventId
from tachograph.core.replay._maker import StepMaker
from tachograph.core.replay._recorded import Fixture, Piece, RecordedError, StreamSteps
from tachograph.core.replay._values import Step
from tachograph.schemas import (
    AgentFinished,
    AgentStarted,
    ArtifactWritten,
    Body,
    CallChunk,
    CallFinished,
    CallOutcome,
    CallStarted,
    Checkpointed,
    Error,
    Event,
    EventMeta,
    MessageReceived,
    MessageSent,
    RunFinished,
    StateChanged,
)

ReadBody = Callable[[Body, str], bytes]
"""(body, event id) to the body's bytes. What it raises comes out of `steps_of`."""

Beginning = (
    CallStarted
    | MessageSent
    | StateChanged
    | Checkpointed
    | ArtifactWritten
    | AgentStarted
    | AgentFinished
    | RunFinished
)
"""An event that begins a step; AgentStarted in the stream of the parent."""

_BEGINNINGS = (CallStarted, MessageSent, StateChanged, Checkpointed, ArtifactWritten, AgentFinished, RunFinished)


@dataclass(slots=True)
class _Draft:
    """A stream while it is read."""

    run_id: str
    agent_id: str
    incarnation: int
    last_seq: int = 0
    ended: bool = False
    started: AgentStarted | None = None
    begun: list[Beginning] = field(default_factory=list[Beginning])
    hlcs: list[int] = field(default_factory=list[int])
    opened: list[tuple[int, AgentStarted]] = field(default_factory=list[tuple[int, AgentStarted]])
    """(seq of this stream's event behind which it was opened, the child's first event)."""
    finished: dict[int, CallFinished | MessageReceived] = field(
        default_factory=dict[int, CallFinished | MessageReceived]
    )
    chunks: dict[int, list[CallChunk]] = field(default_factory=dict[int, list[CallChunk]])


def steps_of(events: Iterable[Event], body: ReadBody) -> dict[tuple[str, int], StreamSteps]:
    """The steps of every stream, by (agent_id, incarnation).

    Args:
        events: of one run; every stream's in order of `seq`, streams in any order. A repeated event is passed over.
        body: reads a payload.
    """
    drafts = _drafts(events)
    _place_children(drafts)
    return {key: _stream(draft, body) for key, draft in drafts.items()}


def _drafts(events: Iterable[Event]) -> dict[tuple[str, int], _Draft]:
    drafts: dict[tuple[str, int], _Draft] = {}
    for event in events:
        meta = event.meta
        key = (meta.agent_id, meta.incarnation)
        draft = drafts.get(key)
        if draft is None:
            draft = drafts[key] = _Draft(meta.run_id, meta.agent_id, meta.incarnation)
        if meta.seq <= draft.last_seq:
            continue
        draft.last_seq = meta.seq
        draft.hlcs.append(meta.hlc)
        _note(draft, event)
    return drafts


def _note(draft: _Draft, event: Event) -> None:
    if isinstance(event, _BEGINNINGS):
        draft.begun.append(event)
        if isinstance(event, AgentFinished | RunFinished):
            draft.ended = True
    elif isinstance(event, CallFinished | MessageReceived):
        draft.finished[event.call_id] = event
    elif isinstance(event, CallChunk):
        draft.chunks.setdefault(event.call_id, []).append(event)
    elif isinstance(event, AgentStarted):
        draft.started = event


def _place_children(drafts: dict[tuple[str, int], _Draft]) -> None:
    for draft in drafts.values():
        child = draft.started
        if child is None or child.entrypoint is not None:
            continue
        place = _place(child, drafts)
        if place is not None:
            parent, seq = place
            drafts[parent].opened.append((seq, child))


def _place(child: AgentStarted, drafts: dict[tuple[str, int], _Draft]) -> tuple[tuple[str, int], int] | None:
    """The parent's stream and the `seq` of its event behind which it opened the child."""
    for cause in child.meta.causes:
        key = (cause.agent_id, cause.incarnation)
        if cause.agent_id == child.parent_agent_id and key in drafts:
            return key, cause.seq
    lives = [key for key in drafts if key[0] == child.parent_agent_id]
    if not lives:
        return None
    key = max(lives, key=lambda life: (drafts[life].hlcs[0] <= child.meta.hlc, life[1]))
    return key, bisect_left(drafts[key].hlcs, child.meta.hlc)


def _stream(draft: _Draft, body: ReadBody) -> StreamSteps:
    maker = StepMaker(draft.agent_id, draft.incarnation)
    places = [(event.meta.seq, 0, event.meta.hlc, event) for event in draft.begun]
    places += [(seq, 1, child.meta.hlc, child) for seq, child in draft.opened]
    places.sort(key=lambda place: place[:3])
    steps: list[Step] = []
    fixtures: list[Fixture | None] = []
    for seq, _, hlc, event in places:
        step = _step(maker, event, body)
        fixture = _fixture(draft, event, body) if isinstance(event, CallStarted) else None
        steps.append(_recorded(step, seq, hlc, fixture))
        fixtures.append(fixture)
    parent = _parent(draft)
    return StreamSteps(
        draft.run_id,
        draft.agent_id,
        draft.incarnation,
        tuple(steps),
        tuple(fixtures),
        draft.ended,
        parent,
        draft.started.role if draft.started is not None else "",
        draft.last_seq,
    )


def _parent(draft: _Draft) -> tuple[str, int] | None:
    child = draft.started
    if child is None or child.parent_agent_id is None:
        return None
    for cause in child.meta.causes:
        if cause.agent_id == child.parent_agent_id:
            return cause.agent_id, cause.incarnation
    return child.parent_agent_id, 1


def _step(maker: StepMaker, event: Beginning, body: ReadBody) -> Step:
    at = _event_id(event.meta)
    match event:
        case CallStarted():
            return maker.call(event.kind, event.name, body(event.arguments, at), event.version)
        case MessageSent():
            return maker.send(event.to_agent_id, body(event.body, at))
        case AgentStarted():
            return maker.opened(event.meta.agent_id, event.role)
        case AgentFinished() | RunFinished():
            result = body(event.result, at) if event.result is not None else None
            error = (event.error.type, event.error.message) if event.error is not None else None
            return maker.ended(event.outcome, result, error)
        case _:
            return _fact(maker, event, body(_stated(event), at))


def _stated(event: StateChanged | Checkpointed | ArtifactWritten) -> Body:
    match event:
        case StateChanged():
            return event.value
        case Checkpointed():
            return event.state
        case ArtifactWritten():
            return event.body


def _fact(maker: StepMaker, event: StateChanged | Checkpointed | ArtifactWritten, payload: bytes) -> Step:
    match event:
        case StateChanged():
            return maker.state(event.key, payload)
        case Checkpointed():
            return maker.checkpoint(event.name, payload)
        case ArtifactWritten():
            return maker.artifact(event.name, event.media_type, payload)


def _recorded(step: Step, seq: int, hlc: int, fixture: Fixture | None) -> Step:
    if fixture is None:
        return replace(step, seq=seq, hlc=hlc)
    error = fixture.error.type if fixture.error is not None else None
    return replace(step, seq=seq, hlc=hlc, outcome=fixture.outcome, result=fixture.result, error_type=error)


def _fixture(draft: _Draft, started: CallStarted, body: ReadBody) -> Fixture:
    call_id = started.meta.seq
    pieces = tuple(_piece(chunk, body) for chunk in draft.chunks.get(call_id, ()))
    end = draft.finished.get(call_id)
    if end is None:
        return Fixture(None, pieces=pieces, redacted=any(piece.redacted for piece in pieces))
    if isinstance(end, MessageReceived):
        return _message(end, body)
    at = _event_id(end.meta)
    return Fixture(
        outcome=end.outcome,
        result=body(end.result, at) if end.result is not None else None,
        error=_error(end.error, at, body) if end.error is not None else None,
        pieces=pieces,
        yields=end.yields,
        gap=end.gap,
        seq=end.meta.seq,
        hlc=end.meta.hlc,
        unrecorded=end.unrecorded,
        redacted=_is_redacted(end) or any(piece.redacted for piece in pieces),
        usage=end.usage,
        details=end.details,
        receipt=body(end.receipt, at) if end.receipt is not None else None,
    )


def _message(end: MessageReceived, body: ReadBody) -> Fixture:
    return Fixture(
        outcome=CallOutcome.OK,
        result=body(end.body, _event_id(end.meta)),
        yields=end.yields,
        gap=end.gap,
        seq=end.meta.seq,
        hlc=end.meta.hlc,
        redacted=end.body.redacted,
        message_id=end.message_id,
        from_agent_id=end.from_agent_id,
    )


def _piece(chunk: CallChunk, body: ReadBody) -> Piece:
    meta = chunk.meta
    data = body(chunk.data, _event_id(meta))
    return Piece(data, chunk.yields, chunk.gap, meta.seq, meta.hlc, chunk.data.redacted)


def _error(error: Error, at: str, body: ReadBody) -> RecordedError:
    arguments = body(error.arguments, at) if error.arguments is not None else None
    return RecordedError(error.type, error.bases, error.message, arguments)


def _is_redacted(end: CallFinished) -> bool:
    bodies = (end.result, end.error.arguments if end.error is not None else None)
    return any(body is not None and body.redacted for body in bodies)


def _event_id(meta: EventMeta) -> str:
    return str(EventId(meta.run_id, meta.agent_id, meta.incarnation, meta.seq))
