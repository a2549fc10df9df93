"""Who waits for whom at a cut."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tachograph.core.causality import EventId
from tachograph.core.state import RECEIVING, AgentState, RunState, is_free, running_agents


@dataclass(frozen=True, slots=True)
class Wait:
    """An agent waits for something that has not come."""

    run_id: str
    agent_id: str
    call: EventId
    """The CallStarted."""
    kind: str
    name: str
    since_hlc: int
    agents: tuple[str, ...]
    """For a message: the agents that can still send one. Empty where it waits for the outside, or where nobody can."""
    coming: tuple[EventId, ...]
    """For a message: those on their way to it (MessageSent)."""


def waits(state: RunState) -> tuple[Wait, ...]:
    """Every call that is open, and for messages who could end the wait; sorted by agent and call."""
    return tuple(_waits(state))


def _waits(state: RunState) -> Iterable[Wait]:
    for key in sorted(state.agents):
        agent = state.agents[key]
        for seq in sorted(agent.open_calls):
            call = agent.open_calls[seq]
            receives = call.kind == RECEIVING
            yield Wait(
                state.run_id,
                agent.agent_id,
                EventId(state.run_id, agent.agent_id, agent.incarnation, seq),
                call.kind,
                call.name,
                call.hlc,
                _able(state, agent) if receives else (),
                _coming(state, agent) if receives else (),
            )


def _able(state: RunState, waiting: AgentState) -> tuple[str, ...]:
    """The agents that can go on without a message of their own; failing these, those that wait as well."""
    others = [agent for agent in running_agents(state) if agent.agent_id != waiting.agent_id]
    free = {agent.agent_id for agent in others if is_free(state, agent)}
    return tuple(sorted(free or {agent.agent_id for agent in others}))


def _coming(state: RunState, agent: AgentState) -> tuple[EventId, ...]:
    letters = (letter for letter in state.in_flight.values() if letter.to_agent_id == agent.agent_id)
    return tuple(
        sorted(EventId(state.run_id, letter.from_agent_id, letter.incarnation, letter.seq) for letter in letters)
    )
