"""From a run's events to the steps of its streams."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tachograph.core.replay._drafts import Beginning, Draft, drafts_of
from tachograph.core.replay._fixtures import ReadBody, fixture_of
from tachograph.core.replay._maker import StepMaker, payload_key
from tachograph.core.replay._picked import PickedStart, fixture_of_picked
from tachograph.core.replay._recorded import Fixture, StreamSteps
from tachograph.core.replay._values import Step
from tachograph.schemas import (
    AgentFinished,
    AgentStarted,
    ArtifactWritten,
    Body,
    CallStarted,
    Checkpointed,
    Event,
    MessageSent,
    RunFinished,
    StateChanged,
)


def steps_of(events: Iterable[Event], body: ReadBody) -> dict[tuple[str, int], StreamSteps]:
    """The steps of every stream, by (agent_id, incarnation).

    Args:
        events: of one run; every stream's in order of `seq`, streams in any order. A repeated event is passed over.
        body: reads a payload.
    """
    return {key: stream_of_draft(draft, body) for key, draft in drafts_of(events).items()}


def stream_of_draft(draft: Draft, body: ReadBody) -> StreamSteps:
    """The steps of a stream whose events are all there."""
    maker = StepMaker(draft.agent_id, draft.incarnation)
    steps: list[Step] = []
    fixtures: list[Fixture | None] = []
    for seq, _, hlc, event in draft.places():
        if isinstance(event, tuple):
            step, fixture = _picked_call(draft, event, body, len(steps) + 1)
        elif isinstance(event, CallStarted):
            step, fixture = _call(draft, event, body, len(steps) + 1)
        else:
            maker.made = len(steps)
            step, fixture = replace(_step(maker, event, body, draft.event_id(seq)), seq=seq, hlc=hlc), None
        steps.append(step)
        fixtures.append(fixture)
    return StreamSteps(
        run_id=draft.run_id,
        agent_id=draft.agent_id,
        incarnation=draft.incarnation,
        steps=tuple(steps),
        fixtures=tuple(fixtures),
        ended=draft.ended,
        parent=draft.parent(),
        role=draft.started.role if draft.started is not None else "",
        last_seq=draft.last_seq,
    )


def _call(draft: Draft, event: CallStarted, body: ReadBody, number: int) -> tuple[Step, Fixture]:
    """The step of a call as `StepMaker.call` makes it, with what came back; made at once, for most steps are calls."""
    meta = event.meta
    seq = meta.seq
    arguments = body(event.arguments, draft.event_id(seq))
    fixture = fixture_of(draft, seq, body)
    error = fixture.error
    step = Step(
        draft.agent_id,
        draft.incarnation,
        number,
        event.kind,
        event.name,
        payload_key(arguments),
        arguments,
        event.version,
        seq,
        meta.hlc,
        fixture.outcome,
        fixture.result,
        error.type if error is not None else None,
    )
    return step, fixture


def _picked_call(draft: Draft, event: PickedStart, body: ReadBody, number: int) -> tuple[Step, Fixture]:
    """The same of a call that was not decoded whole."""
    seq, hlc, _, _, _, kind, name, version, _, _, _, _, arguments = event
    end = draft.finished.get(seq)
    if isinstance(end, tuple) and seq not in draft.chunks:
        fixture = fixture_of_picked(end, ())
    else:
        fixture = fixture_of(draft, seq, body)
    error = fixture.error
    step = Step(
        draft.agent_id,
        draft.incarnation,
        number,
        kind,
        name,
        payload_key(arguments),
        arguments,
        version,
        seq,
        hlc,
        fixture.outcome,
        fixture.result,
        error.type if error is not None else None,
    )
    return step, fixture


def _step(maker: StepMaker, event: Beginning, body: ReadBody, at: str) -> Step:
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
