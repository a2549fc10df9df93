"""What crosses the boundary, as values: requests, outcomes, deliveries, envelopes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tachograph.schemas import (
    CallKind,
    CallOutcome,
    EffectClass,
    RequestDetails,
    ResponseDetails,
    Usage,
    quick,
)


@quick
@dataclass(frozen=True, slots=True)
class Request:
    """What control logic asks of the outside."""

    kind: CallKind
    name: str
    arguments: object
    """Anything that the body codec can write; by convention `{"args": [...], "kwargs": {...}}`."""
    version: str | None = None
    effect: EffectClass = "none"
    idempotency_key: str | None = None
    details: RequestDetails | None = None
    unknown: tuple[type[BaseException], ...] = ()
    """Exceptions after which nobody knows whether the effect happened (beside the usual ones)."""
    failed: tuple[type[BaseException], ...] = ()
    """Exceptions that prove that the effect did not happen."""
    raises: tuple[type[BaseException], ...] = ()
    """Exceptions that a replay may have to raise again."""


@quick
@dataclass(frozen=True, slots=True)
class Outcome:
    """How a call came back."""

    status: CallOutcome
    value: object = None
    error: BaseException | None = None
    usage: Usage | None = None
    receipt: object = None
    details: ResponseDetails | None = None


@quick
@dataclass(frozen=True, slots=True)
class Delivery:
    """How a result reached control logic on an event loop; a replay delivers it the same way."""

    yields: int = 0
    """Loop turns it took without the loop running dry; `WAITED`, or `CANCELLED` and less, where that says nothing."""
    gap: int = 0
    """Loop turns since the process's previous delivery that had waited; GAP_MAX where the loop ran dry between."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """One piece of a streamed result."""

    value: object


@dataclass(frozen=True, slots=True)
class Receipted:
    """What a tool returns when it has a receipt: control logic gets the value, the ledger keeps the receipt."""

    value: object
    receipt: object


IMMEDIATE = Delivery()
"""The result was there without giving way: every synchronous call."""


@quick
@dataclass(frozen=True, slots=True)
class Envelope:
    """A message on its way between agents, ready for any transport that carries JSON."""

    run_id: str
    message_id: str
    from_agent_id: str
    to_agent_id: str
    body: object
    """The message as control logic gave it."""
    incarnation: int
    """Incarnation of the sender's stream."""
    seq: int
    """`seq` of the MessageSent event."""
    hlc: int
    hash: str
    """Hex of the MessageSent event's hash; empty where sender and receiver share a recorder."""


@dataclass(frozen=True, slots=True)
class RunContext:
    """What another process needs to join a run; travels as text (`to_text`, `from_text`)."""

    run_id: str
    agent_id: str
    """The agent that hands the context on."""
    incarnation: int
    seq: int
    """That agent's latest event: the cause of what joins."""
    hlc: int
    hash: str

    def to_text(self) -> str:
        """One line without spaces, fit for an environment variable or a header."""
        return f"{self.run_id};{self.agent_id};{self.incarnation};{self.seq};{self.hlc};{self.hash}"

    @classmethod
    def from_text(cls, text: str) -> RunContext:
        """The inverse of `to_text`.

        Raises:
            InvalidIdentifier: the text is not a run context.
        """
        from tachograph.core.errors import InvalidIdentifier

        parts = text.split(";")
        try:
            run_id, agent_id, incarnation, seq, hlc, digest = parts
            return cls(run_id, agent_id, int(incarnation), int(seq), int(hlc), digest)
        except ValueError as error:
            raise InvalidIdentifier("run context", text, "it is not the text of a RunContext") from error


@dataclass(frozen=True, slots=True)
class Fact:
    """Something control logic states; nothing comes back."""

    kind: str
    """`state`, `checkpoint` or `artifact`; of an importer: `imported`."""
    name: str
    """The state's key, the checkpoint's or the artifact's name; the source of an imported run."""
    value: object
    media_type: str = "application/json"


@dataclass(frozen=True, slots=True)
class InputSnapshot:
    """Every version that can change a decision. What is not known is absent, and counts as a gap."""

    versions: Mapping[str, object] = field(default_factory=dict[str, object])
    """Keys: code_path, code_commit, code_digest, image_digest, lock_digest, python, os, prompt_bundle, graph,
    tool_catalogue, model_profile, policy, knowledge_snapshot, feature_flags, permissions, tenant_configuration."""
