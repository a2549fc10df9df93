"""The recorded steps that a replayed step may have meant."""

from __future__ import annotations

from collections.abc import Sequence

from tachograph.core.replay._fields import field_changes
from tachograph.core.replay._likeness import unlikeness
from tachograph.core.replay._values import Candidate, Step

CANDIDATES_MAX = 3
"""Candidates kept."""

_COMPARED_MAX = 200
"""Steps compared, nearest first."""

_COMPARED_BYTES_MAX = 4 * 1024 * 1024
"""Payload bytes compared."""


def nearest(step: Step, recorded: Sequence[Step], position: int) -> tuple[Candidate, ...]:
    """Recorded steps of the same kind and name: those with the fewest differing fields first, then the most alike."""
    same = [other for other in recorded if other.kind == step.kind and other.name == step.name]
    same.sort(key=lambda other: abs(other.number - 1 - position))
    ranked: list[tuple[tuple[int, int], Candidate]] = []
    budget = _COMPARED_BYTES_MAX
    for other in same[:_COMPARED_MAX]:
        budget -= len(other.arguments) + len(step.arguments)
        if budget < 0 and ranked:
            break
        changes = field_changes(other.arguments, step.arguments)
        likeness = len(changes), unlikeness(other.arguments, step.arguments)
        ranked.append((likeness, Candidate(other, changes)))
    ranked.sort(key=lambda entry: entry[0])
    return tuple(candidate for _, candidate in ranked[:CANDIDATES_MAX])
