"""What a run's events add up to.

These objects are accumulators: `fold` changes them in place, because a copy for every event would cost more than all the
rest. Whoever needs a value to keep takes `state_bytes`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from tachograph.core.state._gates import Approval, FirstUse
from tachograph.schemas import Body, EffectClass, EffectState, EndOutcome, Fidelity

RunStatus = Literal["UNSEEN", "RUNNING", "FINISHED"]
"""UNSEEN: no event of the root's stream is there yet."""

LOOP_MIN = 5
"""As many equal tool calls with equal answers in a row are a loop: polling has other answers, or gives up before."""


@dataclass(slots=True)
class OpenCall:
    """A call that has not come back."""

    kind: str
    name: str
    arguments: bytes
    """Digest."""
    hlc: int
    effect: EffectClass
    action: str | None = None
    """Of an approval: the digest of the action it is for, in hex."""


@dataclass(slots=True)
class Streak:
    """Equal calls with equal answers, one after the other."""

    name: str
    arguments: bytes
    """Digest."""
    answer: bytes
    """Digest of the result, or what stands for an error."""
    count: int
    first_seq: int
    last_seq: int
    """`seq` of the first and the last CallStarted."""


@dataclass(slots=True)
class AgentState:
    """One stream: an agent in one of its lives."""

    agent_id: str
    incarnation: int
    role: str = ""
    parent: str | None = None
    entrypoint: str | None = None
    joined: bool = False
    """Whether it is a process of its own, driven by itself."""
    status: Literal["RUNNING", "FINISHED"] = "RUNNING"
    outcome: EndOutcome | None = None
    error_type: str | None = None
    seq: int = 0
    """Of its latest event."""
    hlc: int = 0
    """Of its latest event."""
    logical_time_us: int | None = None
    """The time it was told last."""
    acts: bool = False
    """Whether control logic did anything here; the stream of a reconciler or an archivist only states decisions."""
    open_calls: dict[int, OpenCall] = field(default_factory=dict[int, OpenCall])
    """By the `seq` of their CallStarted."""
    values: dict[str, Body] = field(default_factory=dict[str, Body])
    """Application state."""
    checkpoint: tuple[str, int] | None = None
    """The latest one's name and `seq`."""
    artifacts: dict[str, Body] = field(default_factory=dict[str, Body])
    calls: dict[str, int] = field(default_factory=dict[str, int])
    """Calls so far, by kind."""
    errors: int = 0
    """Calls that came back with anything but OK."""
    input_tokens: int = 0
    output_tokens: int = 0
    cost_micros: int = 0
    streak: Streak | None = None
    loops: list[Streak] = field(default_factory=list[Streak])


@dataclass(slots=True)
class Letter:
    """A message on its way."""

    from_agent_id: str
    to_agent_id: str
    incarnation: int
    seq: int
    """Of the MessageSent."""
    hlc: int
    digest: bytes


Stamp = tuple[int, str, int, int]
"""(hlc, agent_id, incarnation, seq): the total order in which later ones win."""


@dataclass(slots=True)
class EffectRecord:
    """An effect in the ledger."""

    effect_id: str
    agent_id: str = ""
    incarnation: int = 0
    seq: int = 0
    """Of its CallStarted."""
    hlc: int = 0
    name: str = ""
    idempotency_key: str | None = None
    arguments: Body | None = None
    attempt: int = 1
    permission: str | None = None
    """Digest of the action that must be approved for it, in hex; None: none is needed."""
    started_us: int = 0
    """When it started: the time that the agent was told last, else that of its recorder."""
    state: EffectState = EffectState.PLANNED
    left: bool = False
    """Whether it was executed at all."""
    unknown_hlc: int = 0
    """When it became UNKNOWN; 0: never."""
    decided_hlc: int = 0
    """When an UNKNOWN one was decided; 0: never."""
    receipt: bytes | None = None
    """Digest."""
    reason: str | None = None
    by: str | None = None
    stamp: Stamp = (0, "", 0, 0)
    """Of the event that moved it last."""
    at_us: int = 0
    """Wall time at the recorder of that event, microseconds since 1970; 0: none has moved it."""


@dataclass(slots=True)
class RunState:
    """A run, folded."""

    run_id: str
    tenant: str = ""
    name: str = ""
    status: RunStatus = "UNSEEN"
    entrypoint: str | None = None
    parent_run_id: str | None = None
    retention: str = ""
    redaction: str = ""
    inputs: Body | None = None
    """The input snapshot."""
    started_at_us: int | None = None
    """Wall time at the recorder, microseconds since 1970."""
    finished_at_us: int | None = None
    outcome: EndOutcome | None = None
    error_type: str | None = None
    result: bytes | None = None
    """Digest."""
    imported: tuple[str, Fidelity, tuple[str, ...]] | None = None
    """Source, fidelity, and what the source does not carry."""
    frozen: bool = False
    events: int = 0
    """Every event that is there, the skipped ones with them."""
    skipped: int = 0
    """Optional events of newer releases."""
    first_hlc: int = 0
    """Of the earliest stream's first event."""
    hlc: int = 0
    """Of the latest event."""
    agents: dict[tuple[str, int], AgentState] = field(default_factory=dict[tuple[str, int], AgentState])
    """By (agent_id, incarnation)."""
    in_flight: dict[str, Letter] = field(default_factory=dict[str, Letter])
    """Sent and not received, by message id."""
    early: set[str] = field(default_factory=set[str])
    """Messages whose receipt was seen before their sending."""
    effects: dict[str, EffectRecord] = field(default_factory=dict[str, EffectRecord])
    """By effect id."""
    approvals: dict[str, list[Approval]] = field(default_factory=dict[str, list[Approval]])
    """By the digest of the action, in hex; in order of time."""
    tool_versions: dict[str, dict[str, FirstUse]] = field(default_factory=dict[str, dict[str, FirstUse]])
    """By tool: version to its first use."""
    index_versions: dict[str, dict[str, FirstUse]] = field(default_factory=dict[str, dict[str, FirstUse]])
    """By index of retrievals: version to its first use."""
    unrecorded: dict[str, str] = field(default_factory=dict[str, str])
    """Event id to why a result could not be recorded."""
    erased: set[bytes] = field(default_factory=set[bytes])
    """Digests of erased bodies."""
    gaps: set[tuple[str, int, int, int]] = field(default_factory=set[tuple[str, int, int, int]])
    """(agent_id, incarnation, first and last missing `seq`)."""


def empty(run_id: str) -> RunState:
    """A run of which nothing is known yet."""
    return RunState(run_id)
