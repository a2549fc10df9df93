"""The effect ledger."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tachograph.core.boundary import Request, status_of_error
from tachograph.core.effects import Ledger, after_crash, decided, may_move, transition
from tachograph.core.errors import EffectAlreadyConfirmed, ReconciliationRequired
from tachograph.core.ports import PastEffect
from tachograph.core.testing import MemoryEffects
from tachograph.schemas import CallOutcome, EffectState

NAME, KEY = "send_mail", "ticket-7"
FIRST, SECOND = "r/mailer#1.4", "r/mailer#1.9"


def past(state: EffectState, *, tenant: str = "acme") -> MemoryEffects:
    """A past with one effect."""
    return MemoryEffects([PastEffect(FIRST, tenant, NAME, KEY, state)])


def ledger_after(*states: EffectState) -> Ledger:
    """A ledger without a past whose first effect went through these states."""
    ledger = Ledger("acme", None)
    for state in states:
        ledger.moved(FIRST, NAME, KEY, state)
    return ledger


EXECUTED = (EffectState.PLANNED, EffectState.EXECUTING)


def test_a_first_effect_is_admitted() -> None:
    """Nothing is known of the key: the effect may leave."""
    Ledger("acme", MemoryEffects()).admit(NAME, KEY)


def test_unknown_refuses_every_retry() -> None:
    """After an UNKNOWN attempt no retry is admitted, however often it is asked, and the error names the effect."""
    ledger = ledger_after(*EXECUTED, EffectState.UNKNOWN)
    for _ in range(3):
        with pytest.raises(ReconciliationRequired) as refusal:
            ledger.admit(NAME, KEY)
    assert refusal.value.effect_id == FIRST
    assert "tacho reconcile" in str(refusal.value)


def test_another_key_or_tool_is_another_effect() -> None:
    """The ledger refuses by tool and key together."""
    ledger = ledger_after(*EXECUTED, EffectState.UNKNOWN)
    ledger.admit(NAME, "ticket-8")
    ledger.admit("refund", KEY)


def test_an_effect_without_a_key_is_never_refused() -> None:
    """Without a key two effects cannot be told apart."""
    ledger = Ledger("acme", None)
    ledger.moved(FIRST, NAME, None, EffectState.UNKNOWN)
    ledger.admit(NAME, None)


def test_confirmed_is_not_executed_again() -> None:
    """What has happened is refused, with the effect whose receipt to use."""
    with pytest.raises(EffectAlreadyConfirmed, match=FIRST):
        ledger_after(*EXECUTED, EffectState.CONFIRMED).admit(NAME, KEY)


def test_failed_may_be_tried_again() -> None:
    """An attempt that proved not to have happened does not stand in the way."""
    ledger_after(*EXECUTED, EffectState.FAILED).admit(NAME, KEY)


def test_reconciled_as_not_happened_may_be_tried_again() -> None:
    """A decision that it did not happen opens the key again."""
    ledger = ledger_after(*EXECUTED, EffectState.UNKNOWN, decided(happened=False))
    ledger.admit(NAME, KEY)


def test_reconciled_as_happened_counts_as_confirmed() -> None:
    """A decision that it happened closes the key for good."""
    ledger = ledger_after(*EXECUTED, EffectState.UNKNOWN, decided(happened=True))
    with pytest.raises(EffectAlreadyConfirmed):
        ledger.admit(NAME, KEY)


def test_a_refused_retry_does_not_open_the_key() -> None:
    """The refused attempt is itself recorded as FAILED; the UNKNOWN one before it still counts."""
    ledger = ledger_after(*EXECUTED, EffectState.UNKNOWN)
    ledger.moved(SECOND, NAME, KEY, EffectState.FAILED)
    with pytest.raises(ReconciliationRequired):
        ledger.admit(NAME, KEY)


def test_two_attempts_at_once() -> None:
    """Both were admitted before either left: the second one is refused when it wants to leave."""
    ledger = ledger_after(*EXECUTED)
    with pytest.raises(ReconciliationRequired):
        ledger.moved(SECOND, NAME, KEY, EffectState.EXECUTING)
    with pytest.raises(ReconciliationRequired):
        ledger.admit(NAME, KEY)


@pytest.mark.parametrize("state", [EffectState.UNKNOWN, EffectState.EXECUTING])
def test_the_past_refuses(state: EffectState) -> None:
    """An attempt of an earlier process that is UNKNOWN, or was executing when it was last seen, refuses a retry."""
    with pytest.raises(ReconciliationRequired):
        Ledger("acme", past(state)).admit(NAME, KEY)


@pytest.mark.parametrize("state", [EffectState.CONFIRMED, EffectState.RECONCILED])
def test_the_past_confirms(state: EffectState) -> None:
    """What happened in an earlier process is not executed again."""
    with pytest.raises(EffectAlreadyConfirmed):
        Ledger("acme", past(state)).admit(NAME, KEY)


def test_tenants_never_meet() -> None:
    """Another tenant's effect under the same key does not matter."""
    Ledger("acme", past(EffectState.UNKNOWN, tenant="other")).admit(NAME, KEY)


def test_a_decision_of_this_process_counts_before_the_catalogue_knows_it() -> None:
    """The past still says UNKNOWN of the effect that was just decided here."""
    ledger = Ledger("acme", past(EffectState.UNKNOWN))
    ledger.moved(FIRST, NAME, KEY, decided(happened=False))
    ledger.admit(NAME, KEY)


@pytest.mark.parametrize("happened", [True, False])
def test_a_decision_of_another_process_counts_here(happened: bool) -> None:
    """Somebody reconciles the effect from outside while this process lives on."""
    elsewhere = MemoryEffects()
    ledger = Ledger("acme", elsewhere)
    for state in (*EXECUTED, EffectState.UNKNOWN):
        ledger.moved(FIRST, NAME, KEY, state)
    with pytest.raises(ReconciliationRequired):
        ledger.admit(NAME, KEY)
    elsewhere.add(PastEffect(FIRST, "acme", NAME, KEY, decided(happened=happened)))
    if happened:
        with pytest.raises(EffectAlreadyConfirmed):
            ledger.admit(NAME, KEY)
    else:
        ledger.admit(NAME, KEY)
        ledger.moved(SECOND, NAME, KEY, EffectState.PLANNED)
        ledger.moved(SECOND, NAME, KEY, EffectState.EXECUTING)


def test_a_refusal_here_does_not_hide_the_past() -> None:
    """A retry that failed here leaves the UNKNOWN effect of the earlier process in force."""
    ledger = Ledger("acme", past(EffectState.UNKNOWN))
    ledger.moved(SECOND, NAME, KEY, EffectState.FAILED)
    with pytest.raises(ReconciliationRequired, match=FIRST):
        ledger.admit(NAME, KEY)


@pytest.mark.parametrize(
    ("outcome", "before_it_left", "after_it_left"),
    [
        (CallOutcome.OK, EffectState.CONFIRMED, EffectState.CONFIRMED),
        (CallOutcome.ERROR, EffectState.FAILED, EffectState.FAILED),
        (CallOutcome.TIMEOUT, EffectState.FAILED, EffectState.UNKNOWN),
        (CallOutcome.CANCELLED, EffectState.FAILED, EffectState.UNKNOWN),
        (CallOutcome.UNKNOWN, EffectState.UNKNOWN, EffectState.UNKNOWN),
    ],
)
def test_outcome_moves_an_effect(outcome: CallOutcome, before_it_left: EffectState, after_it_left: EffectState) -> None:
    """A time-out or cancellation proves nothing once the call had left."""
    assert transition(EffectState.PLANNED, outcome) is before_it_left
    assert transition(EffectState.EXECUTING, outcome) is after_it_left


@pytest.mark.parametrize("outcome", list(CallOutcome))
def test_a_late_outcome_moves_nothing(outcome: CallOutcome) -> None:
    """UNKNOWN and the final states are left only by a decision."""
    for state in (EffectState.UNKNOWN, EffectState.CONFIRMED, EffectState.FAILED, EffectState.RECONCILED):
        assert transition(state, outcome) is state


@pytest.mark.parametrize("state", list(EffectState))
@pytest.mark.parametrize("outcome", list(CallOutcome))
def test_every_transition_is_one_the_ledger_allows(state: EffectState, outcome: CallOutcome) -> None:
    """Apart from an outcome whose departure was not recorded, no transition invents a move."""
    moved = transition(state, outcome)
    assert moved is state or state is EffectState.PLANNED or may_move(state, moved)


def test_a_crash_makes_what_had_left_unknown() -> None:
    """EXECUTING is UNKNOWN after a crash, PLANNED never left, the rest stays."""
    assert after_crash(EffectState.EXECUTING) is EffectState.UNKNOWN
    assert after_crash(EffectState.PLANNED) is EffectState.FAILED
    for state in (EffectState.UNKNOWN, EffectState.CONFIRMED, EffectState.FAILED, EffectState.RECONCILED):
        assert after_crash(state) is state


@pytest.mark.parametrize("error", [TimeoutError(), ConnectionResetError()])
def test_what_a_tool_declares_to_prove_a_failure_does(error: Exception) -> None:
    """An exception in `failed` leaves the effect FAILED, even a time-out; without the declaration it is UNKNOWN."""
    plain = Request("tool", NAME, None, effect="write")
    declared = replace(plain, failed=(type(error),))
    assert transition(EffectState.EXECUTING, status_of_error(plain, error)) is EffectState.UNKNOWN
    assert transition(EffectState.EXECUTING, status_of_error(declared, error)) is EffectState.FAILED
