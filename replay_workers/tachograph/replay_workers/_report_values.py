"""What a report says, as values; pages, documents and texts are made of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from tachograph.core.replay import Verdict
from tachograph.core.state import SignatureHit

Kind = Literal["replay", "fork"]
"""A replay proves what happened; a fork is a new run that never happened outside."""

RowKind = Literal[
    "start", "call", "read", "effect", "unknown", "failed", "back", "send", "receive", "fact", "end", "note"
]


@dataclass(frozen=True, slots=True)
class Value:
    """A named payload."""

    name: str
    text: str
    """Harmless, clipped."""


@dataclass(frozen=True, slots=True)
class EffectFacts:
    """An effect, where it stands, and what proves it."""

    effect_id: str
    agent_id: str
    name: str
    idempotency_key: str | None
    attempt: int
    state: str
    arguments: str
    receipt: str | None
    """None where there is none."""
    reason: str | None
    by: str | None


@dataclass(frozen=True, slots=True)
class AgentFacts:
    """An agent at the end of its run."""

    agent_id: str
    incarnation: int
    role: str
    status: str
    """`OK`, `ERROR`, `CANCELLED`, or `OPEN` where no end is recorded."""
    error_type: str | None
    events: int
    calls: Mapping[str, int]
    """By kind."""
    open_calls: int
    checkpoint: str | None
    values: tuple[Value, ...]
    """Application state, artifacts included."""
    values_left_out: int


@dataclass(frozen=True, slots=True)
class RunFacts:
    """A run as its log tells it."""

    run_id: str
    name: str
    entrypoint: str | None
    parent_run_id: str | None
    tenant: str
    status: str
    """`OK`, `ERROR`, `CANCELLED`, or `OPEN` where no end is recorded."""
    error_type: str | None
    started_at_us: int | None
    """Microseconds since 1970."""
    seconds: float | None
    """From start to end, by the recorder's clock."""
    events: int
    redaction: str
    frozen: bool
    imported_from: str | None
    grade: str
    """What the evidence is good for."""
    missing: tuple[str, ...]
    inputs: str
    """The input snapshot."""
    signatures: tuple[SignatureHit, ...] = ()
    signatures_left_out: int = 0
    effects: tuple[EffectFacts, ...] = ()
    effects_left_out: int = 0
    agents: tuple[AgentFacts, ...] = ()
    agents_left_out: int = 0


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the time line."""

    number: int
    """Among all rows of the run, from 0."""
    event_id: str
    at_ms: float
    """Since the run's first event."""
    agent_id: str
    kind: RowKind
    text: str
    outcome: str = ""
    failed: bool = False
    """Whether a call came back with anything but OK."""
    towards: str | None = None
    """For a message: the other agent."""
    message_id: str | None = None
    call: tuple[str, int, int] | None = None
    """(agent, incarnation, `seq` of the start) of a call that something else happened in."""
    diverges: str | None = None
    """The kind of the divergence found here."""
    is_first_divergence: bool = False


@dataclass(frozen=True, slots=True)
class Timeline:
    """The rows that are shown, in causal order; numbers tell where some are left out."""

    run_id: str
    rows: tuple[Row, ...] = ()
    rows_total: int = 0
    around: str = ""
    """What the shown rows were chosen by; empty where all are shown."""


@dataclass(frozen=True, slots=True)
class Report:
    """A replay or a fork, with the run that it is about."""

    kind: Kind
    title: str
    summary: str
    """One sentence: what this showed."""
    run: RunFacts | None
    """The replayed run, or the fork; None where its log cannot be read."""
    parent: RunFacts | None
    """Of a fork."""
    verdict: Verdict
    seconds: float
    """Wall time of the replay or fork."""
    timeline: Timeline
    error: str | None = None
    ended: str | None = None
    """Of a fork: how its control logic ended."""
    changes: tuple[Value, ...] = field(default=())
    """Of a fork: what was changed against the parent."""
