"""The event types: one frozen class per `.avsc` file, field for field and in the same order."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

EffectClass = Literal["none", "read", "write"]
"""What a call does to the outside: nothing, it reads it, or it changes it (then it is an effect)."""

CallKind = Literal[
    "model", "tool", "retrieval", "memory", "policy", "approval", "clock", "random", "id", "messages"
]
"""Which door of the boundary a call goes through."""


class CallOutcome(StrEnum):
    """How a call came back."""

    OK = "OK"
    ERROR = "ERROR"
    TIMEOUT = "TIMEOUT"
    CANCELLED = "CANCELLED"
    UNKNOWN = "UNKNOWN"
    """An effect of which nobody knows whether it happened."""


class EffectState(StrEnum):
    """Where an effect stands in the ledger."""

    PLANNED = "PLANNED"
    EXECUTING = "EXECUTING"
    CONFIRMED = "CONFIRMED"
    FAILED = "FAILED"
    UNKNOWN = "UNKNOWN"
    RECONCILED = "RECONCILED"


class EndOutcome(StrEnum):
    """How a run or an agent ended."""

    OK = "OK"
    ERROR = "ERROR"
    CANCELLED = "CANCELLED"


class Fidelity(StrEnum):
    """What a run's evidence is good for."""

    COMPLETE = "COMPLETE"
    CONTROL_FLOW = "CONTROL_FLOW"
    TOOLS_ONLY = "TOOLS_ONLY"
    SPANS_ONLY = "SPANS_ONLY"
    TRUNCATED = "TRUNCATED"


@dataclass(frozen=True, slots=True)
class Cause:
    """A direct cause in another stream."""

    run_id: str
    agent_id: str
    incarnation: int
    seq: int
    hash: bytes
    """The cause's event hash, 32 bytes."""


@dataclass(frozen=True, slots=True)
class EventMeta:
    """What every event starts with; the fields that every reader needs stand first."""

    hash: bytes
    """The event's hash, 32 bytes: the first field, so that the bytes behind it are what it is made over."""
    seq: int
    hlc: int
    """Hybrid logical clock: 48 bits of milliseconds since 1970, 16 bits of counter."""
    agent_id: str
    incarnation: int
    run_id: str
    tenant: str
    causes: tuple[Cause, ...]
    recorded_at_us: int
    """Wall time at the recorder, microseconds since 1970. Nothing is ordered by it."""
    logical_time_us: int | None
    """The time the agent was told, microseconds since 1970."""
    trace: str | None
    """W3C traceparent of the surrounding span, when there was one."""


@dataclass(frozen=True, slots=True)
class Body:
    """A payload in canonical JSON, after redaction: inline, or as chunks in the object store."""

    digest: bytes
    """HMAC-SHA-256 of the whole canonical body under the tenant's digest key, 32 bytes."""
    size: int
    """Bytes of the whole canonical body."""
    redacted: bool
    """Whether a value in it was replaced by a token."""
    inline: bytes | None
    chunks: tuple[bytes, ...]
    """Digests (32 bytes each) of the chunks in order; empty when inline."""


@dataclass(frozen=True, slots=True)
class Error:
    """A recorded exception."""

    type: str
    """`module.qualified_name` of its class."""
    bases: tuple[str, ...]
    """The same of its base classes up to, not including, BaseException; nearest first."""
    message: str
    arguments: Body | None
    """The exception's `args`, when they could be recorded."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What a model call consumed."""

    input_tokens: int | None
    output_tokens: int | None
    cost_micros: int | None
    """Price in millionths of the account's currency unit."""


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """Details of a model call that are known when it starts."""

    provider: str
    model: str
    version: str | None
    parameters: str
    """Sampling parameters, canonical JSON."""
    prompt_template: str | None
    prompt_digest: bytes | None
    tools_digest: bytes | None


@dataclass(frozen=True, slots=True)
class ModelResponse:
    """Details of a model call that are known when it ends."""

    model: str | None
    stop_reason: str | None


@dataclass(frozen=True, slots=True)
class ToolRequest:
    """Details of a tool call."""

    schema_version: str | None
    permission: str | None
    """The permission decision it ran under."""


@dataclass(frozen=True, slots=True)
class RetrievalRequest:
    """Details of a retrieval that are known when it starts."""

    index: str
    index_version: str
    filter: str
    """The filter, canonical JSON."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """One piece that a retrieval returned."""

    document_id: str
    document_version: str
    chunk_id: str
    chunk_hash: bytes
    rank: int
    score: float


@dataclass(frozen=True, slots=True)
class RetrievalResponse:
    """Details of a retrieval that are known when it ends."""

    evidence: tuple[Evidence, ...]


@dataclass(frozen=True, slots=True)
class PolicyRequest:
    """Details of a policy decision that are known when it is asked for."""

    policy_id: str
    policy_version: str


@dataclass(frozen=True, slots=True)
class PolicyResponse:
    """Details of a policy decision."""

    decision: str
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """Details of an approval that are known when it is asked for."""

    action_digest: bytes


@dataclass(frozen=True, slots=True)
class ApprovalResponse:
    """Details of an approval."""

    approver: str
    granted: bool
    decided_at_us: int
    expires_at_us: int | None


@dataclass(frozen=True, slots=True)
class RandomRequest:
    """Details of a random draw."""

    stream: str


RequestDetails = (
    ModelRequest | ToolRequest | RetrievalRequest | PolicyRequest | ApprovalRequest | RandomRequest
)
ResponseDetails = ModelResponse | RetrievalResponse | PolicyResponse | ApprovalResponse


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
)
"""Any event."""

GAP_MAX = 65_536
"""A delivery this many loop turns or more after the one before it, or after the loop ran dry, counts as apart."""

ROOT_AGENT_ID = "run"
"""The agent whose stream holds RunStarted and RunFinished."""
