"""The event types: one frozen class per `.avsc` file, field for field and in the same order."""

from __future__ import annotations

from dataclasses import dataclass

from tachograph.schemas._details import RequestDetails, ResponseDetails
from tachograph.schemas._parts import (
    Body,
    CallKind,
    CallOutcome,
    EffectClass,
    EffectState,
    EndOutcome,
    Error,
    EventMeta,
    Fidelity,
    Usage,
)


@dataclass(frozen=True, slots=True)
class RunStarted:
    """First event of a run, in the stream of its root agent `run`."""

    meta: EventMeta
    name: str
    entrypoint: str | None
    """`module:qualified_name` of the control logic, None where it cannot be re-driven."""
    arguments: Body
    """`{"args": [...], "kwargs": {...}}` of the entry point, without the run itself."""
    inputs: Body
    """The input snapshot: every version that can change a decision."""
    parent_run_id: str | None
    fork: Body | None
    """For a fork: the list of changes against the parent."""
    retention: str
    redaction: str
    """Version of the redaction policy the run was recorded under."""


@dataclass(frozen=True, slots=True)
class RunFinished:
    """Last event of a run; its causes are the last events of every stream of the run in this process."""

    meta: EventMeta
    outcome: EndOutcome
    result: Body | None
    error: Error | None
    state_digest: bytes | None


@dataclass(frozen=True, slots=True)
class AgentStarted:
    """First event of every stream but the root's."""

    meta: EventMeta
    role: str
    parent_agent_id: str | None
    entrypoint: str | None
    """Set where the agent is a process of its own: `module:qualified_name` of its control logic."""
    arguments: Body | None
    inputs: Body | None
    redaction: str


@dataclass(frozen=True, slots=True)
class AgentFinished:
    """Last event of a stream."""

    meta: EventMeta
    outcome: EndOutcome
    result: Body | None
    error: Error | None


@dataclass(frozen=True, slots=True)
class CallStarted:
    """A call goes out through the boundary; its `call_id` is its own `seq`."""

    meta: EventMeta
    kind: CallKind
    name: str
    version: str | None
    effect: EffectClass
    idempotency_key: str | None
    attempt: int
    details: RequestDetails | None
    arguments: Body


@dataclass(frozen=True, slots=True)
class CallChunk:
    """One piece of a streamed result."""

    meta: EventMeta
    call_id: int
    index: int
    yields: int
    gap: int
    data: Body


@dataclass(frozen=True, slots=True)
class CallFinished:
    """A call came back."""

    meta: EventMeta
    call_id: int
    """`seq` of the CallStarted."""
    outcome: CallOutcome
    yields: int
    """Loop turns it took without the loop running dry; -1: it waited; less: it was cancelled (`core.boundary`)."""
    gap: int
    """Loop turns since the process's previous delivery that had waited; GAP_MAX where the loop ran dry between."""
    chunks: int
    unrecorded: str | None
    """Why the result could not be recorded, where it could not."""
    usage: Usage | None
    details: ResponseDetails | None
    error: Error | None
    receipt: Body | None
    result: Body | None


@dataclass(frozen=True, slots=True)
class MessageSent:
    """A message leaves an agent."""

    meta: EventMeta
    message_id: str
    to_agent_id: str
    body: Body


@dataclass(frozen=True, slots=True)
class MessageReceived:
    """A message reaches control logic: the end of the `receive` call; its cause is the MessageSent."""

    meta: EventMeta
    call_id: int
    message_id: str
    from_agent_id: str
    yields: int
    gap: int
    body: Body


@dataclass(frozen=True, slots=True)
class EffectTransitioned:
    """An effect moves in the ledger."""

    meta: EventMeta
    effect_id: str
    """`event_id` of the effect's CallStarted."""
    name: str
    idempotency_key: str | None
    from_state: EffectState
    to_state: EffectState
    reason: str | None
    by: str
    """`recorder`, `reconciler:NAME` or `person:NAME`."""
    receipt: Body | None


@dataclass(frozen=True, slots=True)
class StateChanged:
    """Control logic set a key of its agent's application state."""

    meta: EventMeta
    key: str
    value: Body


@dataclass(frozen=True, slots=True)
class Checkpointed:
    """Control logic named a point."""

    meta: EventMeta
    name: str
    state: Body


@dataclass(frozen=True, slots=True)
class ArtifactWritten:
    """Control logic produced a document."""

    meta: EventMeta
    name: str
    media_type: str
    body: Body


@dataclass(frozen=True, slots=True)
class EvidenceFrozen:
    """The run's evidence may not expire."""

    meta: EventMeta
    reason: str
    by: str


@dataclass(frozen=True, slots=True)
class BodyErased:
    """A body was erased on request; its digest stays."""

    meta: EventMeta
    digest: bytes
    reason: str
    by: str


@dataclass(frozen=True, slots=True)
class RunImported:
    """The run was not recorded live but brought from elsewhere."""

    meta: EventMeta
    source: str
    fidelity: Fidelity
    missing: tuple[str, ...]
    """What the source does not carry."""
    details: Body | None


@dataclass(frozen=True, slots=True)
class TimerFired:
    """A timer that control logic had set on its event loop fired.

    Nothing else tells a replay when a pause or a time-out of control logic was over.
    """

    meta: EventMeta
    number: int
    """Which of the timers of its stream it is, in the order in which they were set, from 1."""
    delay_us: int
    """For how long it was set, microseconds."""
    gap: int
    """Loop turns since the unit's previous timer or delivery that had waited, as in CallFinished."""


Event = (
    RunStarted
    | RunFinished
    | AgentStarted
    | AgentFinished
    | CallStarted
    | CallChunk
    | CallFinished
    | MessageSent
    | MessageReceived
    | EffectTransitioned
    | StateChanged
    | Checkpointed
    | ArtifactWritten
    | EvidenceFrozen
    | BodyErased
    | RunImported
    | TimerFired
)
"""Any event."""

GAP_MAX = 65_536
"""A delivery this many loop turns or more after the one before it, or after the loop ran dry, counts as apart."""

ROOT_AGENT_ID = "run"
"""The agent whose stream holds RunStarted and RunFinished."""
