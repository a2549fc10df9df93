"""How an effect moves: PLANNED -> EXECUTING -> CONFIRMED | FAILED | UNKNOWN -> RECONCILED | FAILED."""

from __future__ import annotations

from tachograph.schemas import CallOutcome, EffectState

_OPEN = (EffectState.PLANNED, EffectState.EXECUTING)

_MOVES: dict[EffectState, frozenset[EffectState]] = {
    EffectState.PLANNED: frozenset({EffectState.EXECUTING, EffectState.FAILED}),
    EffectState.EXECUTING: frozenset({EffectState.CONFIRMED, EffectState.FAILED, EffectState.UNKNOWN}),
    EffectState.UNKNOWN: frozenset({EffectState.RECONCILED, EffectState.FAILED}),
    EffectState.CONFIRMED: frozenset(),
    EffectState.FAILED: frozenset(),
    EffectState.RECONCILED: frozenset(),
}


def transition(state: EffectState, outcome: CallOutcome) -> EffectState:
    """Where an effect stands once its call came back.

    A time-out or a cancellation after it left proves nothing: UNKNOWN. Before it left, it cannot have happened: FAILED.
    A decided or UNKNOWN effect is not moved by a late outcome; that is for a reconciler or a person.
    """
    if state not in _OPEN:
        return state
    if outcome is CallOutcome.OK:
        return EffectState.CONFIRMED
    if outcome is CallOutcome.UNKNOWN:
        return EffectState.UNKNOWN
    if outcome is CallOutcome.ERROR or state is EffectState.PLANNED:
        return EffectState.FAILED
    return EffectState.UNKNOWN


def after_crash(state: EffectState) -> EffectState:
    """Where an effect stands when its process died: what had left is UNKNOWN, what had not has FAILED."""
    if state is EffectState.EXECUTING:
        return EffectState.UNKNOWN
    return EffectState.FAILED if state is EffectState.PLANNED else state


def decided(*, happened: bool) -> EffectState:
    """Where an UNKNOWN effect goes once somebody found out."""
    return EffectState.RECONCILED if happened else EffectState.FAILED


def may_move(start: EffectState, end: EffectState) -> bool:
    """Whether the ledger allows a move."""
    return end in _MOVES[start]
