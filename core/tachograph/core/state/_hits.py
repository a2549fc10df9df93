"""What a rule finds."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class FailureClass(StrEnum):
    """Where a failure comes from."""

    MODEL_DECISION = "MODEL_DECISION"
    PROMPT = "PROMPT"
    RETRIEVAL = "RETRIEVAL"
    TOOL = "TOOL"
    AUTHORITY = "AUTHORITY"
    APPROVAL = "APPROVAL"
    SIDE_EFFECT = "SIDE_EFFECT"
    STATE = "STATE"
    CONCURRENCY = "CONCURRENCY"
    INFRASTRUCTURE = "INFRASTRUCTURE"
    POLICY = "POLICY"
    DATA = "DATA"


class Severity(StrEnum):
    """How much a signature asks for."""

    FAILURE = "FAILURE"
    INFO = "INFO"
    """Worth knowing; nothing has gone wrong by it alone."""


@dataclass(frozen=True, slots=True)
class SignatureHit:
    """A signature that a run shows."""

    name: str
    """Stable, as in `SIDE_EFFECT_UNKNOWN_RETRY_DUPLICATE`."""
    failure_class: FailureClass
    agent_id: str
    event_ids: tuple[str, ...]
    """The events it was found by."""
    sentence: str
    severity: Severity = Severity.FAILURE
