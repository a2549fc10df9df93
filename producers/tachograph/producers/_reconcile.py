"""Deciding UNKNOWN effects: by a person, or by asking whoever can know."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from tachograph.core.boundary import Outcome
from tachograph.core.canonical import decode_body
from tachograph.core.causality import EventId
from tachograph.core.effects import decided
from tachograph.core.errors import EvidenceBroken, UnknownEffect
from tachograph.producers._entry import Draft, Extra
from tachograph.producers._ledger import Effect
from tachograph.producers._life import Life
from tachograph.producers._unit import Unit
from tachograph.schemas import CallOutcome, CallStarted, Cause, EffectState, decode
from tachograph.stores import Home

_LOG = logging.getLogger("tachograph.producers")

RECONCILER_AGENT_ID = "reconciler"
"""The agent in whose streams decisions are recorded."""


@dataclass(frozen=True, slots=True)
class OpenEffect:
    """An effect of which nobody knows whether it happened, as a reconciler is asked about it."""

    effect_id: str
    run_id: str
    agent_id: str
    name: str
    """The tool's."""
    idempotency_key: str | None
    """As recorded: a secret in it is replaced by its token."""
    arguments: object
    """As recorded: `{"args": [...], "kwargs": {...}}`, secrets replaced by their tokens; None where they are lost."""


Reconciler = Callable[[OpenEffect], bool | None]
"""Finds out, by receipt, idempotency key or a query to the provider: it happened, it did not, or None: still unknown."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What became of asking about one UNKNOWN effect."""

    effect: OpenEffect
    happened: bool | None
    """None: undecided, the effect stays UNKNOWN."""
    reason: str


def decide(life: Life, effect_id: str, *, happened: bool, reason: str, by: str) -> None:
    """Record that an UNKNOWN effect happened, or did not.

    Args:
        life: the recorder's.
        effect_id: `event_id` of the effect's CallStarted.
        happened: RECONCILED, or FAILED: then it may be tried again.
        reason: how it is known.
        by: who says so: `person:NAME` or `reconciler:NAME`; a bare name is a person's.

    Raises:
        UnknownEffect: there is no such effect, or it is not UNKNOWN.
        SpoolUnwritable: the decision could not be recorded durably.
    """
    row = life.home.catalogue.effect(effect_id)
    if row.state is not EffectState.UNKNOWN:
        raise UnknownEffect(effect_id, f"it is {row.state.value}, only an UNKNOWN effect can be decided")
    _, cause, hlc = _started(life.home, EventId.parse(effect_id))
    unit = Unit(life, row.run_id, "agent")
    life.journal.observe(hlc)
    first = Draft(
        "AgentStarted",
        {
            "role": "reconciler",
            "parent_agent_id": None,
            "entrypoint": None,
            "redaction": life.redaction_version,
            "arguments": None,
            "inputs": None,
        },
        Extra(causes=(cause,)),
    )
    tape = unit.start(RECONCILER_AGENT_ID, life.claim(row.run_id, RECONCILER_AGENT_ID), first)
    effect = Effect(life.ledger, effect_id, row.name, row.idempotency_key, EffectState.UNKNOWN)
    tape.append(effect.move(decided(happened=happened), reason=reason, by=by if ":" in by else f"person:{by}"))
    life.journal.settle(unit.close(tape, Outcome(CallOutcome.OK)), durable=True)


def ask(life: Life, reconcilers: dict[str, Reconciler], run_id: str | None) -> tuple[Decision, ...]:
    """Ask the reconcilers about every UNKNOWN effect of their tools; decide what they know.

    Raises:
        SpoolUnwritable: a decision could not be recorded durably.
    """
    decisions: list[Decision] = []
    for row in life.home.catalogue.effects(run_id):
        reconciler = reconcilers.get(row.name)
        if row.state is not EffectState.UNKNOWN or reconciler is None:
            continue
        effect = OpenEffect(
            row.effect_id, row.run_id, row.agent_id, row.name, row.idempotency_key, _arguments(life.home, row.effect_id)
        )
        decisions.append(_asked(life, reconciler, effect))
    return tuple(decisions)


def _asked(life: Life, reconciler: Reconciler, effect: OpenEffect) -> Decision:
    name = getattr(reconciler, "__name__", type(reconciler).__name__)
    try:
        happened = reconciler(effect)
    except Exception as error:  # noqa: BLE001 whatever a provider's client raises: the effect stays UNKNOWN
        _LOG.warning("tachograph: reconciler %s failed for %s: %s", name, effect.effect_id, type(error).__name__)
        return Decision(effect, None, f"the reconciler raised {type(error).__name__}")
    if happened is None:
        return Decision(effect, None, "the reconciler does not know")
    reason = "the reconciler found it" if happened else "the reconciler found that it did not happen"
    decide(life, effect.effect_id, happened=happened, reason=reason, by=f"reconciler:{name}")
    return Decision(effect, happened, reason)


def _arguments(home: Home, effect_id: str) -> object:
    event, _, _ = _started(home, EventId.parse(effect_id))
    try:
        return decode_body(home.body(event.arguments, effect_id))
    except EvidenceBroken:
        return None


def _started(home: Home, effect_id: EventId) -> tuple[CallStarted, Cause, int]:
    """The effect's CallStarted, the same as a cause, and its hybrid clock."""
    for stored in home.log.read_run(effect_id.run_id):
        event = decode(stored.payload)
        meta = event.meta
        if isinstance(event, CallStarted) and (meta.agent_id, meta.incarnation, meta.seq) == effect_id[1:]:
            return event, Cause(*effect_id, meta.hash), meta.hlc
    raise UnknownEffect(str(effect_id), "its CallStarted is not in the log")
