"""Agents that wait for a message."""

from __future__ import annotations

from typing import Final

from tachograph.core.state._model import AgentState, RunState
from tachograph.schemas import ROOT_AGENT_ID

RECEIVING: Final = "messages"
"""Kind of the call that waits for a message."""

_CIRCLE_MIN: Final = 2
"""An agent that waits alone is stuck, not in a circle."""


def deadlocked(state: RunState) -> tuple[str, ...]:
    """The agents that wait for a message from each other, where no other could send one; empty where that is not so."""
    running = running_agents(state)
    if len(running) < _CIRCLE_MIN or any(is_free(state, agent) for agent in running):
        return ()
    return tuple(sorted({agent.agent_id for agent in running if is_blocked(state, agent)}))


def running_agents(state: RunState) -> list[AgentState]:
    """Agents that control logic drives and that have not ended; the run's own stream only holds them together."""
    return [
        agent
        for agent in state.agents.values()
        if agent.acts and agent.status == "RUNNING" and agent.agent_id != ROOT_AGENT_ID
    ]


def is_free(state: RunState, agent: AgentState) -> bool:
    """Whether an agent can go on: it neither waits for a message nor, with nothing else to do, for its own children."""
    if agent.open_calls:
        return not is_blocked(state, agent)
    return not any(child.parent == agent.agent_id for child in running_agents(state))


def is_blocked(state: RunState, agent: AgentState) -> bool:
    """Whether all that an agent does is wait for a message, and none is on its way to it."""
    kinds = {call.kind for call in agent.open_calls.values()}
    coming = any(letter.to_agent_id == agent.agent_id for letter in state.in_flight.values())
    return kinds == {RECEIVING} and not coming
