"""What a call's start and end say beside its arguments and result, by the kind of call: one class per `.avsc` file."""

from __future__ import annotations

from dataclasses import dataclass


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


RequestDetails = ModelRequest | ToolRequest | RetrievalRequest | PolicyRequest | ApprovalRequest | RandomRequest
ResponseDetails = ModelResponse | RetrievalResponse | PolicyResponse | ApprovalResponse
