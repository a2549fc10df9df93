"""What the catalogue in Redis tells beside runs and effects."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tachograph.core.findings import EffectFinding, EffectRow


@dataclass(frozen=True, slots=True)
class SignatureRow:
    """A signature over all runs of a tenant."""

    name: str
    runs: int
    """How many show it."""
    first_us: int
    """When the first of them began: microseconds since 1970."""
    last_us: int
    """When the last of them began."""


def effect_rows(findings: Iterable[EffectFinding]) -> list[EffectRow]:
    """In the order in which they last moved."""
    return [one.row for one in sorted(findings, key=lambda one: (one.stamp[0], one.row.effect_id))]
