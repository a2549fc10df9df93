"""What a replay proved on each level: control flow, state, content."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tachograph.core.replay._classify import changed_kind
from tachograph.core.replay._values import Divergence, DivergenceKind, Level, UnrecordedInput

_PROVABLE: Mapping[str, tuple[bool, bool, bool]] = {
    "COMPLETE": (True, True, True),
    "CONTROL_FLOW": (True, True, False),
    "TRUNCATED": (True, False, False),
    "TOOLS_ONLY": (True, False, False),
    "SPANS_ONLY": (True, False, False),
}
"""Fidelity to whether control flow, state and content can be proved from such evidence."""

_PAYLOADS = frozenset({DivergenceKind.ARGUMENT_CHANGED, DivergenceKind.STATE_CHANGED, DivergenceKind.OUTCOME_CHANGED})
"""Divergences that leave every step in its place."""

_ANSWERS = frozenset(
    {DivergenceKind.TOOL_CHANGED, DivergenceKind.MODEL_DECISION_CHANGED, DivergenceKind.POLICY_CHANGED}
)


@dataclass(frozen=True, slots=True)
class UnitResult:
    """What the replay of one unit showed."""

    divergences: tuple[Divergence, ...] = ()
    """Of every stream, each stream's in order."""
    steps_recorded: int = 0
    steps_replayed: int = 0
    agents: int = 0
    driven: bool = True
    """Whether its control logic was driven at all; if not, `missing` says why."""
    aligned: bool = True
    """Whether every replayed step stands in its recorded place, whatever it carries."""
    served: Mapping[str, int] = field(default_factory=dict[str, int])
    """Calls answered from the recording, by kind."""
    live: Mapping[str, int] = field(default_factory=dict[str, int])
    """Calls that left, by kind."""
    blocked: tuple[UnrecordedInput, ...] = ()
    """Reads of the outside that bypassed the boundary."""
    taints: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


def levels_of(units: Sequence[UnitResult], fidelity: str) -> tuple[Level, Level, Level]:
    """Control flow, state, content.

    A level is reproduced only where every recorded step was compared. Behind a divergence that moves steps nothing is.
    """
    found = [divergence for unit in units for divergence in unit.divergences]
    touched = {level for divergence in found for level in _touched(divergence)}
    if any(unit.divergences and not unit.aligned for unit in units):
        touched.add("flow")
    provable = _PROVABLE.get(fidelity, (False, False, False))
    driven = bool(units) and all(unit.driven for unit in units)
    compared = driven and all(_is_compared(unit) for unit in units)
    bypassed = any(unit.blocked for unit in units)
    return (
        _level("flow" in touched, proved=provable[0] and compared),
        _level("state" in touched, proved=provable[1] and compared),
        _level("content" in touched, proved=provable[2] and compared and not bypassed),
    )


def _level(diverged: bool, *, proved: bool) -> Level:
    if diverged:
        return "diverged"
    return "reproduced" if proved else "not_proved"


def _is_compared(unit: UnitResult) -> bool:
    """Whether every recorded step of a unit was held against a replayed one."""
    in_place = all(_kind(divergence) in _PAYLOADS or _is_version(divergence) for divergence in unit.divergences)
    return in_place and unit.aligned and unit.steps_replayed == unit.steps_recorded


def _touched(divergence: Divergence) -> tuple[str, ...]:
    kind = _kind(divergence)
    if kind is DivergenceKind.STATE_CHANGED:
        return ("state",)
    if kind is DivergenceKind.OUTCOME_CHANGED:
        ended = divergence.recorded is None or divergence.recorded.kind == "end"
        return ("state",) if ended else ("flow",)
    if kind is DivergenceKind.ARGUMENT_CHANGED:
        return ("content",)
    return ("content",) if kind in _ANSWERS else ("flow",)


def _kind(divergence: Divergence) -> DivergenceKind:
    """What it is, whatever it was put down to."""
    if divergence.kind is not DivergenceKind.UNRECORDED_INPUT:
        return divergence.kind
    recorded, replayed = divergence.recorded, divergence.replayed
    if recorded is None or replayed is None or (recorded.kind, recorded.name) != (replayed.kind, replayed.name):
        return DivergenceKind.CALL_EXTRA
    return changed_kind(recorded.kind)


def _is_version(divergence: Divergence) -> bool:
    recorded, replayed = divergence.recorded, divergence.replayed
    return recorded is not None and replayed is not None and recorded.version != replayed.version
