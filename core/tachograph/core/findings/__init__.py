"""Findings: what a processor has found out and tells the others, as values keyed and versioned.

`_kinds` has the kinds and says which of two stands, `_bytes` writes and reads them, `_rows` are the rows of the catalogue
that they carry, and `_make` finds them in a folded run.
"""

from tachograph.core.findings._bytes import finding_bytes, finding_of
from tachograph.core.findings._kinds import (
    Condition,
    EffectFinding,
    Finding,
    IntegrityFinding,
    Position,
    ReplayFinding,
    ReplayState,
    RunFinding,
    SegmentFinding,
    SignatureFinding,
    newer,
)
from tachograph.core.findings._make import findings_of, row_of
from tachograph.core.findings._rows import EffectRow, RunRow, RunStatus

__all__ = [
    "Condition",
    "EffectFinding",
    "EffectRow",
    "Finding",
    "IntegrityFinding",
    "Position",
    "ReplayFinding",
    "ReplayState",
    "RunFinding",
    "RunRow",
    "RunStatus",
    "SegmentFinding",
    "SignatureFinding",
    "finding_bytes",
    "finding_of",
    "findings_of",
    "newer",
    "row_of",
]
