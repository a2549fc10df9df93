"""Who waits for whom at a cut."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tachograph.core.causality import EventId
from tachograph.core.state import AgentState, RunState
from tachograph.schemas import ROOT_AGENT_ID

RECEIVING = "messages"
"""Kind of the call that waits for a message."""

_CIRCLE_MIN = 2
"""An agent that waits alone is stuck, not in a circle."""


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


def deadlocked(state: RunState) -> tuple[str, ...]:
    """The agents that wait for a message from each other, where no other could send one; empty where that is not so."""
    running = _running(state)
    if len(running) < _CIRCLE_MIN or any(_is_free(state, agent) for agent in running):
        return ()
    return tuple(sorted({agent.agent_id for agent in running if _blocked(state, agent)}))


def _able(state: RunState, waiting: AgentState) -> tuple[str, ...]:
    """The agents that can go on without a message of their own; failing these, those that wait as well."""
    others = [agent for agent in _running(state) if agent.agent_id != waiting.agent_id]
    free = {agent.agent_id for agent in others if _is_free(state, agent)}
    return tuple(sorted(free or {agent.agent_id for agent in others}))


def _running(state: RunState) -> list[AgentState]:
    """Agents that control logic drives; the run's own stream only holds them together."""
    return [
        agent
        for agent in state.agents.values()
        if agent.acts and agent.status == "RUNNING" and agent.agent_id != ROOT_AGENT_ID
    ]


def _is_free(state: RunState, agent: AgentState) -> bool:
    """Whether an agent can go on: it neither waits for a message nor, with nothing else to do, for its own children."""
    if agent.open_calls:
        return not _blocked(state, agent)
    return not any(child.parent == agent.agent_id for child in _running(state))


def _blocked(state: RunState, agent: AgentState) -> bool:
    """Whether all that an agent does is wait for a message, and none is on its way to it."""
    kinds = {call.kind for call in agent.open_calls.values()}
    return kinds == {RECEIVING} and not _coming(state, agent)


def _coming(state: RunState, agent: AgentState) -> tuple[EventId, ...]:
    letters = (letter for letter in state.in_flight.values() if letter.to_agent_id == agent.agent_id)
    return tuple(
        sorted(EventId(state.run_id, letter.from_agent_id, letter.incarnation, letter.seq) for letter in letters)
    )
