"""Signatures: stable names of kinds of failure, found by rules over the folded state and never by a model."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tachograph.core.causality import EventId
from tachograph.core.state._gate_rules import drifts, gates, withdrawn
from tachograph.core.state._hits import FailureClass, Severity, SignatureHit
from tachograph.core.state._model import AgentState, RunState
from tachograph.core.state._repeats import repeats
from tachograph.core.state._waiting import deadlocked
from tachograph.schemas import EffectState


def signatures(state: RunState, *, over: bool | None = None) -> tuple[SignatureHit, ...]:
    """Every signature that the run shows, the gravest first.

    Args:
        state: a folded run.
        over: whether no more events can come; by default, whether the run has finished. Pass True for a run whose
            recorder is dead.
    """
    ended = state.status == "FINISHED" if over is None else over
    rules = (*_ALWAYS, *_WHEN_OVER) if ended else _ALWAYS
    hits = [hit for rule in rules for hit in sorted(rule(state), key=lambda hit: (hit.agent_id, hit.event_ids))]
    return tuple(sorted(hits, key=lambda hit: hit.severity is Severity.INFO))


def _unknown(state: RunState) -> Iterator[SignatureHit]:
    for effect_id, effect in state.effects.items():
        if effect.state is EffectState.UNKNOWN:
            yield SignatureHit(
                "SIDE_EFFECT_UNKNOWN",
                FailureClass.SIDE_EFFECT,
                effect.agent_id,
                (effect_id,),
                f"Nobody knows whether {effect.name} at {effect_id} happened; it is not reconciled.",
            )


def _without_receipt(state: RunState) -> Iterator[SignatureHit]:
    for effect_id, effect in state.effects.items():
        if effect.state is EffectState.CONFIRMED and effect.receipt is None:
            yield SignatureHit(
                "EFFECT_WITHOUT_RECEIPT",
                FailureClass.SIDE_EFFECT,
                effect.agent_id,
                (effect_id,),
                f"{effect.name} at {effect_id} is confirmed, but there is no receipt to prove it by.",
                Severity.INFO,
            )


def _loops(state: RunState) -> Iterator[SignatureHit]:
    for agent in state.agents.values():
        for loop in agent.loops:
            yield SignatureHit(
                "TOOL_LOOP",
                FailureClass.TOOL,
                agent.agent_id,
                (_event_id(state, agent, loop.first_seq), _event_id(state, agent, loop.last_seq)),
                f"Agent {agent.agent_id!r} called {loop.name} {loop.count} times in a row with the same arguments "
                f"and got the same answer.",
            )


def _lost(state: RunState) -> Iterator[SignatureHit]:
    for letter in state.in_flight.values():
        sender = (letter.from_agent_id, letter.incarnation)
        yield SignatureHit(
            "MESSAGE_LOST",
            FailureClass.CONCURRENCY,
            letter.to_agent_id,
            (_event_id(state, state.agents[sender], letter.seq),),
            f"Agent {letter.from_agent_id!r} sent a message to {letter.to_agent_id!r} that was never received.",
        )


def _left_unknown(state: RunState) -> Iterator[SignatureHit]:
    """An effect that was executing when its process died is UNKNOWN."""
    for effect_id, effect in state.effects.items():
        if effect.state is EffectState.EXECUTING:
            yield SignatureHit(
                "SIDE_EFFECT_UNKNOWN",
                FailureClass.SIDE_EFFECT,
                effect.agent_id,
                (effect_id,),
                f"The process ended while {effect.name} at {effect_id} was executing; nobody knows whether it happened.",
            )


def _circle(state: RunState) -> Iterator[SignatureHit]:
    circle = deadlocked(state)
    if circle:
        waiting = [agent for agent in state.agents.values() if agent.agent_id in circle and agent.open_calls]
        yield SignatureHit(
            "WAIT_CYCLE",
            FailureClass.CONCURRENCY,
            circle[0],
            tuple(sorted(_event_id(state, agent, max(agent.open_calls)) for agent in waiting)),
            f"Agents {', '.join(map(repr, circle))} wait for a message from each other, and nobody else can send one.",
        )


def _stuck(state: RunState) -> Iterator[SignatureHit]:
    circle = deadlocked(state)
    for agent in state.agents.values():
        if agent.agent_id in circle:
            continue
        for seq, call in agent.open_calls.items():
            waits = "waits for a message" if call.kind == "messages" else f"waits for {call.kind} {call.name}"
            yield SignatureHit(
                "AGENT_STUCK",
                FailureClass.CONCURRENCY if call.kind == "messages" else FailureClass.INFRASTRUCTURE,
                agent.agent_id,
                (_event_id(state, agent, seq),),
                f"Agent {agent.agent_id!r} {waits} that never came back.",
            )


def _truncated(state: RunState) -> Iterator[SignatureHit]:
    for agent in state.agents.values():
        if agent.acts and agent.status == "RUNNING":
            yield SignatureHit(
                "STREAM_TRUNCATED",
                FailureClass.INFRASTRUCTURE,
                agent.agent_id,
                (_event_id(state, agent, agent.seq),),
                f"The stream of agent {agent.agent_id!r} breaks off after event {agent.seq}.",
            )


def _event_id(state: RunState, agent: AgentState, seq: int) -> str:
    return str(EventId(state.run_id, agent.agent_id, agent.incarnation, seq))


_Rule = Callable[[RunState], Iterator[SignatureHit]]

_ALWAYS: tuple[_Rule, ...] = (repeats, gates, _unknown, withdrawn, drifts, _without_receipt, _loops)
_WHEN_OVER: tuple[_Rule, ...] = (_circle, _lost, _left_unknown, _stuck, _truncated)
