"""What events share: their meta, bodies, errors and the closed sets, one class per `.avsc` file, field for field."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

EffectClass = Literal["none", "read", "write"]
"""What a call does to the outside: nothing, it reads it, or it changes it (then it is an effect)."""

CallKind = Literal["model", "tool", "retrieval", "memory", "policy", "approval", "clock", "random", "id", "messages"]
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
