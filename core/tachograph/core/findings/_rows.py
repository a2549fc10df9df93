"""What the catalogue tells: one value per run and per effect."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tachograph.schemas import EffectState, quick


class RunStatus(StrEnum):
    """Whether a run goes on."""

    RUNNING = "RUNNING"
    FINISHED = "FINISHED"
    TRUNCATED = "TRUNCATED"
    """Its process died before the run's end was recorded."""


@quick
@dataclass(frozen=True, slots=True)
class RunRow:
    """A run in the catalogue."""

    run_id: str
    tenant: str
    name: str
    status: RunStatus
    outcome: str | None
    """`OK`, `ERROR` or `CANCELLED`, once it has finished."""
    started_at_us: int
    """Microseconds since 1970, by the recorder's clock."""
    finished_at_us: int | None
    agents: int
    """Agents with a stream, the run's own root not counted."""
    events: int
    fidelity: str
    missing: tuple[str, ...]
    """Sentences: what a replay would lack."""
    effects: int
    unknown_effects: int
    signatures: tuple[str, ...]
    """Names, sorted, each once."""
    parent_run_id: str | None
    entrypoint: str | None
    linked: tuple[str, ...] = ()
    """Other runs whose effects this one moved; sorted."""


@quick
@dataclass(frozen=True, slots=True)
class EffectRow:
    """An effect in the catalogue."""

    effect_id: str
    """`event_id` of its CallStarted."""
    run_id: str
    agent_id: str
    tenant: str
    name: str
    idempotency_key: str | None
    state: EffectState
    at_us: int
    """When it moved there: microseconds since 1970, by the recorder's clock."""
    reason: str | None
    by: str
    """`recorder`, `reconciler:NAME` or `person:NAME`."""
