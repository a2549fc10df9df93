"""Adds an event to a run's state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Never, cast

from tachograph.core.causality import EventId
from tachograph.core.state._effects import called, came_back, moved
from tachograph.core.state._model import LOOP_MIN, AgentState, Letter, OpenCall, RunState, Streak
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
    EffectTransitioned,
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
    Usage,
)

_LOOPING = frozenset({"tool", "retrieval", "memory"})
"""Kinds of calls that can make a loop."""


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
    kind = event.kind
    agent.acts = True
    agent.calls[kind] = agent.calls.get(kind, 0) + 1
    agent.open_calls[event.meta.seq] = OpenCall(kind, event.name, event.arguments.digest, event.meta.hlc, event.effect)
    if event.effect == "write":
        called(state, event)


def _call_chunk(state: RunState, agent: AgentState, event: CallChunk) -> None:
    """A piece adds nothing but the position."""


def _call_finished(state: RunState, agent: AgentState, event: CallFinished) -> None:
    call = agent.open_calls.pop(event.call_id, None)
    if event.outcome is not CallOutcome.OK:
        agent.errors += 1
    if event.usage is not None:
        _used(agent, event.usage)
    if event.unrecorded is not None:
        meta = event.meta
        state.unrecorded[str(EventId(meta.run_id, meta.agent_id, meta.incarnation, meta.seq))] = event.unrecorded
    if call is None:
        return
    if call.kind in _LOOPING:
        _repeated(agent, call, event)
    if call.effect == "write":
        came_back(state, event)


def _used(agent: AgentState, usage: Usage) -> None:
    agent.input_tokens += usage.input_tokens or 0
    agent.output_tokens += usage.output_tokens or 0
    agent.cost_micros += usage.cost_micros or 0


def _repeated(agent: AgentState, call: OpenCall, event: CallFinished) -> None:
    answer = event.result.digest if event.result is not None else event.outcome.encode()
    streak = agent.streak
    if streak is None or streak.arguments != call.arguments or streak.answer != answer or streak.name != call.name:
        agent.streak = Streak(call.name, call.arguments, answer, 1, event.call_id, event.call_id)
        return
    streak.count += 1
    streak.last_seq = event.call_id
    if streak.count == LOOP_MIN:
        agent.loops.append(streak)


def _message_sent(state: RunState, agent: AgentState, event: MessageSent) -> None:
    agent.acts = True
    if event.message_id in state.early:
        state.early.remove(event.message_id)
        return
    meta = event.meta
    state.in_flight[event.message_id] = Letter(
        meta.agent_id, event.to_agent_id, meta.incarnation, meta.seq, meta.hlc, event.body.digest
    )


def _message_received(state: RunState, agent: AgentState, event: MessageReceived) -> None:
    agent.acts = True
    agent.open_calls.pop(event.call_id, None)
    if state.in_flight.pop(event.message_id, None) is None:
        state.early.add(event.message_id)


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
