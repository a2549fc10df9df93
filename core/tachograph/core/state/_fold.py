"""Adds an event to a run's state."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Never, cast

from tachograph.core.causality import EventId
from tachograph.core.state._effects import called, came_back, moved
from tachograph.core.state._gates import Approval, FirstUse, was_decided, was_versioned
from tachograph.core.state._model import AgentState, Letter, OpenCall, RunState
from tachograph.core.state._parts import answered, was_received, was_sent, was_unrecorded, was_used, went_out
from tachograph.schemas import (
    AgentFinished,
    AgentStarted,
    ApprovalRequest,
    ApprovalResponse,
    ArtifactWritten,
    BodyErased,
    CallChunk,
    CallFinished,
    CallOutcome,
    CallStarted,
    Checkpointed,
    EffectTransitioned,
    Event,
    EventMeta,
    EvidenceFrozen,
    MessageReceived,
    MessageSent,
    RetrievalRequest,
    RunFinished,
    RunImported,
    RunStarted,
    StateChanged,
    TimerFired,
)


def fold(state: RunState, event: Event) -> RunState:
    """Add an event; returns the same state, changed in place.

    Idempotent: an event at or below its stream's position changes nothing. A stream's events come in order of `seq`;
    in which order the streams come, as long as causes come first, does not matter for what they add up to.
    """
    agent = _advance(state, event.meta)
    if agent is not None:
        _ADD[type(event)](state, agent, cast("Never", event))
    return state


def skip(state: RunState, meta: EventMeta) -> RunState:
    """Add an optional event that this release does not know: it counts, and takes its place in its stream."""
    if _advance(state, meta) is not None:
        state.skipped += 1
    return state


def caught_up(state: RunState, positions: Mapping[tuple[str, int], int]) -> None:
    """Move streams up to where calls have brought them that are not folded.

    Of them the state then has nothing but this: it is good for `replayability` and `state_digest`, where each of them came
    back with a result that was recorded, and for nothing else.

    Args:
        state: has folded each stream's first event.
        positions: `seq` of the latest call of each stream.
    """
    for stream, seq in positions.items():
        agent = state.agents[stream]
        agent.seq = seq
        agent.acts = True


def _advance(state: RunState, meta: EventMeta) -> AgentState | None:
    """Move the event's stream up to it; None where the stream has it already."""
    key = (meta.agent_id, meta.incarnation)
    agent = state.agents.get(key) or _opened(state, meta)
    seq = meta.seq
    if seq <= agent.seq:
        return None
    if seq != agent.seq + 1:
        state.gaps.add((meta.agent_id, meta.incarnation, agent.seq + 1, seq - 1))
    agent.seq = seq
    agent.hlc = hlc = meta.hlc
    if meta.logical_time_us is not None:
        agent.logical_time_us = meta.logical_time_us
    state.events += 1
    state.hlc = max(state.hlc, hlc)
    return agent


def _opened(state: RunState, meta: EventMeta) -> AgentState:
    agent = state.agents[meta.agent_id, meta.incarnation] = AgentState(meta.agent_id, meta.incarnation)
    state.tenant = state.tenant or meta.tenant
    state.first_hlc = min(state.first_hlc or meta.hlc, meta.hlc)
    return agent


def _run_started(state: RunState, agent: AgentState, event: RunStarted) -> None:
    state.tenant = event.meta.tenant
    state.name = event.name
    state.status = "RUNNING" if state.status == "UNSEEN" else state.status
    state.entrypoint = agent.entrypoint = event.entrypoint
    state.parent_run_id = event.parent_run_id
    state.retention = event.retention
    state.redaction = event.redaction
    state.inputs = event.inputs
    state.started_at_us = event.meta.recorded_at_us
    agent.acts = True


def _run_finished(state: RunState, agent: AgentState, event: RunFinished) -> None:
    state.status = "FINISHED"
    state.outcome = event.outcome
    state.error_type = event.error.type if event.error is not None else None
    state.result = event.result.digest if event.result is not None else None
    state.finished_at_us = event.meta.recorded_at_us
    _ended(agent, event)


def _agent_started(state: RunState, agent: AgentState, event: AgentStarted) -> None:
    del state
    agent.role = event.role
    agent.parent = event.parent_agent_id
    agent.entrypoint = event.entrypoint
    agent.joined = event.entrypoint is not None or event.arguments is not None
    agent.acts = agent.joined or event.parent_agent_id is not None


def _agent_finished(state: RunState, agent: AgentState, event: AgentFinished) -> None:
    del state
    _ended(agent, event)


def _ended(agent: AgentState, event: AgentFinished | RunFinished) -> None:
    agent.status = "FINISHED"
    agent.outcome = event.outcome
    agent.error_type = event.error.type if event.error is not None else None


def _call_started(state: RunState, agent: AgentState, event: CallStarted) -> None:
    meta = event.meta
    call = OpenCall(event.kind, event.name, event.arguments.digest, meta.hlc, event.effect)
    details = event.details
    if isinstance(details, ApprovalRequest):
        call.action = details.action_digest.hex()
    elif isinstance(details, RetrievalRequest):
        was_versioned(state.index_versions, details.index, details.index_version, _use(meta))
    elif event.kind == "tool" and event.version is not None:
        was_versioned(state.tool_versions, event.name, event.version, _use(meta))
    went_out(agent, meta.seq, call)
    if event.effect == "write":
        called(state, event, agent.logical_time_us)


def _call_chunk(state: RunState, agent: AgentState, event: CallChunk) -> None:
    """A piece adds nothing but the position."""


def _call_finished(state: RunState, agent: AgentState, event: CallFinished) -> None:
    call = agent.open_calls.pop(event.call_id, None)
    if event.outcome is not CallOutcome.OK:
        agent.errors += 1
    if event.usage is not None:
        was_used(agent, event.usage)
    if event.unrecorded is not None:
        was_unrecorded(state, agent, event.meta.seq, event.unrecorded)
    if call is None:
        return
    answered(agent, call, event.call_id, event.outcome.encode() if event.result is None else event.result.digest)
    if call.effect == "write":
        came_back(state, event)
    if call.action is not None and isinstance(event.details, ApprovalResponse):
        was_decided(state.approvals, call.action, _approval(event.meta, event.details))


def _approval(meta: EventMeta, details: ApprovalResponse) -> Approval:
    hlc, event_id = _use(meta)
    return Approval(hlc, event_id, meta.agent_id, details.granted, details.approver, details.expires_at_us)


def _use(meta: EventMeta) -> FirstUse:
    return meta.hlc, str(EventId(meta.run_id, meta.agent_id, meta.incarnation, meta.seq))


def _message_sent(state: RunState, agent: AgentState, event: MessageSent) -> None:
    meta = event.meta
    letter = Letter(agent.agent_id, event.to_agent_id, agent.incarnation, meta.seq, meta.hlc, event.body.digest)
    was_sent(state, agent, event.message_id, letter)


def _message_received(state: RunState, agent: AgentState, event: MessageReceived) -> None:
    was_received(state, agent, event.call_id, event.message_id)


def _effect_transitioned(state: RunState, agent: AgentState, event: EffectTransitioned) -> None:
    del agent
    moved(state, event)


def _state_changed(state: RunState, agent: AgentState, event: StateChanged) -> None:
    del state
    agent.acts = True
    agent.values[event.key] = event.value


def _checkpointed(state: RunState, agent: AgentState, event: Checkpointed) -> None:
    del state
    agent.acts = True
    agent.checkpoint = (event.name, event.meta.seq)


def _artifact_written(state: RunState, agent: AgentState, event: ArtifactWritten) -> None:
    del state
    agent.acts = True
    agent.artifacts[event.name] = event.body


def _evidence_frozen(state: RunState, agent: AgentState, event: EvidenceFrozen) -> None:
    del agent, event
    state.frozen = True


def _body_erased(state: RunState, agent: AgentState, event: BodyErased) -> None:
    del agent
    state.erased.add(event.digest)


def _run_imported(state: RunState, agent: AgentState, event: RunImported) -> None:
    del agent
    state.imported = (event.source, event.fidelity, event.missing)


def _timer_fired(state: RunState, agent: AgentState, event: TimerFired) -> None:
    """Only a replay needs it."""


_Add = Callable[[RunState, AgentState, Never], None]
"""Each takes its own type of event; the table holds the two together."""

_ADD: dict[type[Event], _Add] = {
    RunStarted: _run_started,
    RunFinished: _run_finished,
    AgentStarted: _agent_started,
    AgentFinished: _agent_finished,
    CallStarted: _call_started,
    CallChunk: _call_chunk,
    CallFinished: _call_finished,
    MessageSent: _message_sent,
    MessageReceived: _message_received,
    EffectTransitioned: _effect_transitioned,
    StateChanged: _state_changed,
    Checkpointed: _checkpointed,
    ArtifactWritten: _artifact_written,
    EvidenceFrozen: _evidence_frozen,
    BodyErased: _body_erased,
    RunImported: _run_imported,
    TimerFired: _timer_fired,
}
