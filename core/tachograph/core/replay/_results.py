"""What a changed answer is called, by the kind of the call that gave it."""

from __future__ import annotations

from tachograph.core.replay._values import DivergenceKind, StepKind

INPUTS = frozenset({"clock", "random", "id"})
"""Kinds whose answers differ between any two runs and mean nothing by themselves."""

_ANSWERS: dict[str, DivergenceKind] = {
    "model": DivergenceKind.MODEL_DECISION_CHANGED,
    "policy": DivergenceKind.POLICY_CHANGED,
    "approval": DivergenceKind.POLICY_CHANGED,
    "messages": DivergenceKind.ARGUMENT_CHANGED,
    "artifact": DivergenceKind.STATE_CHANGED,
}


def answer_kind(kind: StepKind) -> DivergenceKind:
    """The divergence of a call that was asked the same and answered otherwise; for `receive`: another message."""
    return _ANSWERS.get(kind, DivergenceKind.TOOL_CHANGED)


def version_kind(kind: StepKind) -> DivergenceKind:
    """The divergence of a call whose version changed; for an artifact: its media type."""
    return _ANSWERS.get(kind, DivergenceKind.TOOL_CHANGED)
