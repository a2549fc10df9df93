"""Who took part in a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tachograph.control._calls import calls_of
from tachograph.schemas import AgentFinished, AgentStarted, Event, RunFinished


@dataclass(frozen=True, slots=True)
class AgentFacts:
    """One agent of a run."""

    agent_id: str
    role: str
    status: str
    """How its last incarnation ended: `OK`, `ERROR`, `CANCELLED`; `OPEN` where no end is recorded."""
    incarnations: int
    events: int
    open_calls: int
    """Calls that never came back."""


def agents_of(events: Sequence[Event]) -> list[AgentFacts]:
    """The agents, in order of their first events; events come in causal order."""
    by_agent: dict[str, list[Event]] = {}
    for event in events:
        by_agent.setdefault(event.meta.agent_id, []).append(event)
    return [_facts(agent_id, own) for agent_id, own in by_agent.items()]


def _facts(agent_id: str, events: Sequence[Event]) -> AgentFacts:
    calls = calls_of(events)
    lives = {event.meta.incarnation for event in events}
    roles = [event.role for event in events if isinstance(event, AgentStarted)]
    last_life = [event for event in events if event.meta.incarnation == max(lives)]
    ends = [event.outcome.value for event in last_life if isinstance(event, AgentFinished | RunFinished)]
    return AgentFacts(
        agent_id=agent_id,
        role=roles[-1] if roles else "",
        status=ends[-1] if ends else "OPEN",
        incarnations=len(lives),
        events=len(events),
        open_calls=len(calls.starts.keys() - calls.ends.keys()),
    )
