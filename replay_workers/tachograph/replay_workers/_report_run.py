"""A run as its log tells it: header, evidence, signatures, effects with receipts, agents at the end."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tachograph.core.causality import EventId
from tachograph.core.errors import EvidenceBroken, UnknownRun
from tachograph.core.state import (
    AgentState,
    EffectRecord,
    RunState,
    SignatureHit,
    empty,
    fold,
    replayability,
    signatures,
)
from tachograph.replay_workers._report_bodies import Bodies
from tachograph.replay_workers._report_values import AgentFacts, EffectFacts, RunFacts, Value
from tachograph.schemas import Body, CallFinished, EffectState, EffectTransitioned, Event, RunStarted, decode
from tachograph.stores import Home

SIGNATURES_MAX = 50
"""Signatures of one run that a report lists: the gravest stand first."""
EFFECTS_MAX = 200
"""Effects of one run that a report lists."""
AGENTS_MAX = 60
"""Streams of one run that a report lists."""
VALUES_MAX = 25
"""Keys of one agent's state that a report lists."""
_VALUE_CHARACTERS_MAX = 400
_INPUTS_CHARACTERS_MAX = 8_000

_OPEN = (EffectState.UNKNOWN, EffectState.EXECUTING)


@dataclass(frozen=True, slots=True)
class Recorded:
    """A run's events and what they add up to."""

    events: list[Event]
    """In causal order; what cannot be read is left out."""
    state: RunState
    broken: tuple[str, ...]
    """Sentences: what could not be read."""


def recorded_run(home: Home, run_id: str) -> Recorded | None:
    """Read a run; None where there is no such run."""
    events: list[Event] = []
    broken: dict[str, None] = {}
    state = empty(run_id)
    try:
        for stored in home.log.read_run(run_id):
            try:
                event = decode(stored.payload)
            except EvidenceBroken as error:
                broken[str(error)] = None
                continue
            state = fold(state, event)
            events.append(event)
    except UnknownRun:
        return None
    except EvidenceBroken as error:
        broken[str(error)] = None
    events.sort(key=_causal_order)
    return Recorded(events, state, tuple(broken))


def run_facts(recorded: Recorded, bodies: Bodies) -> RunFacts:
    """Everything that a report says about a run."""
    state = recorded.state
    grade = replayability(state)
    started = next((event for event in recorded.events if isinstance(event, RunStarted)), None)
    streams = _in_order(recorded)
    hits = signatures(state)
    return RunFacts(
        run_id=state.run_id,
        name=state.name,
        entrypoint=state.entrypoint,
        parent_run_id=state.parent_run_id,
        tenant=state.tenant,
        status=state.outcome.value if state.outcome is not None else "OPEN",
        error_type=state.error_type,
        started_at_us=state.started_at_us,
        seconds=_seconds(state),
        events=state.events,
        redaction=state.redaction,
        frozen=state.frozen,
        imported_from=state.imported[0] if state.imported is not None else None,
        grade=grade.grade.value,
        missing=(*grade.missing, *recorded.broken),
        inputs=_body_text(started.inputs, started, bodies, _INPUTS_CHARACTERS_MAX) if started is not None else "",
        signatures=hits[:SIGNATURES_MAX],
        signatures_left_out=max(len(hits) - SIGNATURES_MAX, 0),
        effects=_effects(recorded, hits, bodies),
        effects_left_out=max(len(state.effects) - EFFECTS_MAX, 0),
        agents=tuple(_agent(stream, state, bodies) for stream in streams[:AGENTS_MAX]),
        agents_left_out=max(len(streams) - AGENTS_MAX, 0),
    )


def event_id_of(event: Event) -> str:
    """An event's id as text."""
    meta = event.meta
    return str(EventId(meta.run_id, meta.agent_id, meta.incarnation, meta.seq))


def _causal_order(event: Event) -> tuple[int, str, int, int]:
    meta = event.meta
    return meta.hlc, meta.agent_id, meta.incarnation, meta.seq


def _in_order(recorded: Recorded) -> list[AgentState]:
    """The streams, in the order of their first events."""
    keys = dict.fromkeys((event.meta.agent_id, event.meta.incarnation) for event in recorded.events)
    return [recorded.state.agents[key] for key in keys if key in recorded.state.agents]


def _seconds(state: RunState) -> float | None:
    if state.started_at_us is None or state.finished_at_us is None:
        return None
    return (state.finished_at_us - state.started_at_us) / 1_000_000


def _body_text(body: Body | None, event: Event, bodies: Bodies, characters_max: int) -> str:
    return bodies.text(body, event_id_of(event), characters_max)


def _effects(recorded: Recorded, hits: Iterable[SignatureHit], bodies: Bodies) -> tuple[EffectFacts, ...]:
    """The effects in order; where there are too many, those that are open or named by signatures come first."""
    receipts = _receipts(recorded.events, recorded.state)
    named = {event_id for hit in hits for event_id in hit.event_ids}
    effects = list(recorded.state.effects.values())
    effects.sort(key=lambda effect: (effect.state not in _OPEN, effect.effect_id not in named, _place(effect)))
    chosen = sorted(effects[:EFFECTS_MAX], key=_place)
    return tuple(_effect(effect, receipts.get(effect.effect_id), bodies) for effect in chosen)


def _place(effect: EffectRecord) -> tuple[int, str]:
    return effect.hlc, effect.effect_id


def _receipts(events: Iterable[Event], state: RunState) -> dict[str, tuple[Body, str]]:
    """Effect id to its latest receipt and the event that has it."""
    found: dict[str, tuple[Body, str]] = {}
    for event in events:
        if isinstance(event, EffectTransitioned) and event.receipt is not None:
            found[event.effect_id] = event.receipt, event_id_of(event)
        elif isinstance(event, CallFinished) and event.receipt is not None:
            meta = event.meta
            effect_id = str(EventId(meta.run_id, meta.agent_id, meta.incarnation, event.call_id))
            if effect_id in state.effects:
                found[effect_id] = event.receipt, event_id_of(event)
    return found


def _effect(effect: EffectRecord, receipt: tuple[Body, str] | None, bodies: Bodies) -> EffectFacts:
    return EffectFacts(
        effect_id=effect.effect_id,
        agent_id=effect.agent_id,
        name=effect.name,
        idempotency_key=effect.idempotency_key,
        attempt=effect.attempt,
        state=effect.state.value,
        arguments=bodies.text(effect.arguments, effect.effect_id, _VALUE_CHARACTERS_MAX),
        receipt=bodies.text(*receipt, _VALUE_CHARACTERS_MAX) if receipt is not None else None,
        reason=effect.reason,
        by=effect.by,
    )


def _agent(stream: AgentState, state: RunState, bodies: Bodies) -> AgentFacts:
    stored = [*stream.values.items(), *((f"artifact {name}", body) for name, body in stream.artifacts.items())]
    at = str(EventId(state.run_id, stream.agent_id, stream.incarnation, max(stream.seq, 1)))
    return AgentFacts(
        agent_id=stream.agent_id,
        incarnation=stream.incarnation,
        role=stream.role,
        status=stream.outcome.value if stream.outcome is not None else "OPEN",
        error_type=stream.error_type,
        events=stream.seq,
        calls=dict(sorted(stream.calls.items())),
        open_calls=len(stream.open_calls),
        checkpoint=stream.checkpoint[0] if stream.checkpoint is not None else None,
        values=tuple(Value(name, bodies.text(body, at, _VALUE_CHARACTERS_MAX)) for name, body in stored[:VALUES_MAX]),
        values_left_out=max(len(stored) - VALUES_MAX, 0),
    )
