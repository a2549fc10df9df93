"""Matching a replay against its recording: steps, divergences, verdicts."""

from tachograph.core.replay._values import (
    Candidate,
    Divergence,
    DivergenceKind,
    FieldChange,
    Level,
    Step,
    StepKind,
    UnrecordedInput,
    Verdict,
    VerdictStatus,
)

__all__ = [
    "Candidate",
    "Divergence",
    "DivergenceKind",
    "FieldChange",
    "Level",
    "Step",
    "StepKind",
    "UnrecordedInput",
    "Verdict",
    "VerdictStatus",
]
