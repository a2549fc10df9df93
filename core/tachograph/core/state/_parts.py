"""What events add to a state, as steps on plain values: for events decoded whole (`_fold`) and in part (`_picked`)."""

from __future__ import annotations

from tachograph.core.causality import EventId
from tachograph.core.state._model import LOOP_MIN, AgentState, Letter, OpenCall, RunState, Streak
from tachograph.schemas import Usage

_LOOPING = frozenset({"tool", "retrieval", "memory"})
"""Kinds of calls that can make a loop."""


def went_out(agent: AgentState, seq: int, call: OpenCall) -> None:
    """A call starts."""
    agent.acts = True
    kind = call.kind
    agent.calls[kind] = agent.calls.get(kind, 0) + 1
    agent.open_calls[seq] = call


def was_used(agent: AgentState, usage: Usage) -> None:
    """A model call told what it consumed."""
    agent.input_tokens += usage.input_tokens or 0
    agent.output_tokens += usage.output_tokens or 0
    agent.cost_micros += usage.cost_micros or 0


def was_unrecorded(state: RunState, agent: AgentState, seq: int, reason: str) -> None:
    """A call's result could not be recorded."""
    state.unrecorded[str(EventId(state.run_id, agent.agent_id, agent.incarnation, seq))] = reason


def answered(agent: AgentState, call: OpenCall, call_id: int, answer: bytes) -> None:
    """A call that can make a loop came back: was it, with that answer, the one before over again?"""
    if call.kind not in _LOOPING:
        return
    streak = agent.streak
    if streak is None or streak.arguments != call.arguments or streak.answer != answer or streak.name != call.name:
        agent.streak = Streak(call.name, call.arguments, answer, 1, call_id, call_id)
        return
    streak.count += 1
    streak.last_seq = call_id
    if streak.count == LOOP_MIN:
        agent.loops.append(streak)


def was_sent(state: RunState, agent: AgentState, message_id: str, letter: Letter) -> None:
    """A message leaves."""
    agent.acts = True
    if message_id in state.early:
        state.early.remove(message_id)
        return
    state.in_flight[message_id] = letter


def was_received(state: RunState, agent: AgentState, call_id: int, message_id: str) -> None:
    """A message arrives, perhaps before its sending is folded."""
    agent.acts = True
    agent.open_calls.pop(call_id, None)
    if state.in_flight.pop(message_id, None) is None:
        state.early.add(message_id)
