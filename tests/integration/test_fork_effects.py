"""Effects and approvals in a fork: nothing happens twice, nothing comes back to life, and no ledger but the fork's moves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import fork_fleet
from fork_fleet import EXECUTED
from forks import Forks, forks, log_bytes, record, result, swap
from recordings import named
from tachograph.core.boundary import Run
from tachograph.core.errors import ReconciliationRequired
from tachograph.core.ports import ForkOptions, Override
from tachograph.core.replay import DivergenceKind, VerdictStatus
from tachograph.core.state import empty, fold, signatures
from tachograph.producers import Recorder
from tachograph.schemas import CallStarted, EffectState, EffectTransitioned

GRANT = {"approver": "dora", "granted": True, "decided_at": 1, "expires_at": None}


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Forks]:
    """A home to fork in."""
    with forks(tmp_path / "home") as found:
        yield found


def test_a_retry_after_unknown_is_refused_once_the_key_is_stable(desk: Forks) -> None:
    """The recording paid three times under three keys. With one key the fork stops at the second attempt."""
    run_id = record(desk.path, fork_fleet.stubborn)
    assert EXECUTED.count("pay dropped 12") >= 3
    EXECUTED.clear()
    done = desk.fork(run_id, ForkOptions(entrypoints=swap("stubborn", "stubborn_once")))
    assert "ReconciliationRequired" in done.ended
    assert f"effect {desk.place(run_id, 'clerk', 'pay')} is UNKNOWN" in done.ended
    assert desk.calls(done.run_id, "clerk") == [("pay", "UNKNOWN"), ("pay", "ERROR")]
    assert EXECUTED == []
    desk.check(done.run_id)


def test_the_duplicate_is_in_the_parent_and_not_in_the_fork(desk: Forks) -> None:
    """The signature of the incident; effects of a fork are FAILED for everybody else: they were not executed."""
    run_id = record(desk.path, fork_fleet.stubborn)
    done = desk.fork(run_id, ForkOptions(entrypoints=swap("stubborn", "stubborn_once")))
    assert "SIDE_EFFECT_UNKNOWN_RETRY_DUPLICATE" in _signatures(desk, run_id)
    assert _signatures(desk, done.run_id) == set()
    moves = [event for event in desk.events(done.run_id) if isinstance(event, EffectTransitioned)]
    assert [(move.from_state, move.to_state) for move in moves] == [(EffectState.PLANNED, EffectState.FAILED)]
    assert moves[0].effect_id == desk.place(done.run_id, "clerk", "pay")
    assert moves[0].reason == "answered in a fork, where effects are never executed"


def test_the_parents_ledger_is_untouched(desk: Forks) -> None:
    """What was UNKNOWN still is, what was confirmed still is, and the fork has taken no key: a new run may use it."""
    unknown = record(desk.path, fork_fleet.stubborn)
    paid = record(desk.path, fork_fleet.refund, "alice")
    before = _ledger(desk, unknown, paid)
    desk.fork(unknown, ForkOptions(entrypoints=swap("stubborn", "stubborn_once")))
    desk.fork(paid, ForkOptions(entrypoints=swap("refund", "refund_elsewhere"), miss="stub"))
    assert _ledger(desk, unknown, paid) == before
    assert desk.home.past_effects.find("default", "pay", "always the same") is None
    assert desk.home.past_effects.find("default", "pay", "k-2") is None
    with Recorder(desk.path) as recorder:
        assert recorder.record(_pays, "bob", "k-2") == {"paid": "bob"}


def test_a_decision_by_a_person_counts_where_it_was_made(desk: Forks) -> None:
    """Behind a person's word that the first attempt failed, the recorded second one is no duplicate: it is not refused."""
    run_id = _decided_in_between(desk.path, happened=False)
    done = desk.fork(run_id, ForkOptions(from_event=f"{run_id}/clerk#1.2"))
    assert done.ended == "OK"
    assert desk.calls(done.run_id, "clerk") == [("pay", "UNKNOWN"), ("waits", "OK"), ("pay", "UNKNOWN")]


def test_a_new_plan_is_a_new_branch(desk: Forks) -> None:
    """Somebody else is paid now: one sees whom, the old payment stays, and the money does not move."""
    run_id = record(desk.path, fork_fleet.refund, "alice")
    before = log_bytes(desk.path)
    granted = Override("approval", desk.place(run_id, "clerk", "ask_person"), GRANT)
    options = ForkOptions(entrypoints=swap("refund", "refund_elsewhere"), overrides=(granted,), miss="stub")
    done = desk.fork(run_id, options)
    assert done.ended == "OK"
    first = done.verdict.first_divergence
    assert first is not None
    assert first.kind is DivergenceKind.ARGUMENT_CHANGED
    assert [(change.recorded, change.replayed) for change in first.changes] == [('"alice"', '"bob"')]
    (payment,) = [call for call in named(desk.events(done.run_id), "CallStarted") if call.name == "pay"]  # type: ignore[union-attr]
    assert isinstance(payment, CallStarted)
    assert desk.arguments(payment)[0] == "bob"
    assert {name: log_bytes(desk.path)[name] for name in before} == before
    assert any("asked with other arguments" in text for text in done.verdict.taints)
    assert _ledger(desk, run_id) == [EffectState.CONFIRMED]
    desk.check(done.run_id)


def test_approvals_before_the_fork_point_are_served(desk: Forks) -> None:
    """Once: the person was asked, and said yes; the fork begins behind that."""
    run_id = record(desk.path, fork_fleet.refund, "alice")
    EXECUTED.clear()
    done = desk.fork(run_id, ForkOptions(from_event=desk.place(run_id, "clerk", "pay")))
    assert (done.ended, EXECUTED) == ("OK", [])
    assert done.verdict.served["approval"] == 1


def test_behind_it_they_are_asked_again(desk: Forks) -> None:
    """A stale grant is not served: the fork stops, and names the option that answers."""
    run_id = record(desk.path, fork_fleet.refund, "alice")
    asked = desk.place(run_id, "clerk", "ask_person")
    done = desk.fork(run_id, ForkOptions(from_event=asked))
    assert f"`--approval {asked}=JSON`" in done.ended
    assert "approval" not in done.verdict.served
    assert done.verdict.status is VerdictStatus.LIMITED
    given = desk.fork(run_id, ForkOptions(from_event=asked, overrides=(Override("approval", asked, GRANT),)))
    assert given.ended == "OK"
    ends = [end for end in named(desk.events(given.run_id), "CallFinished") if end.details is not None]  # type: ignore[union-attr]
    assert "dora" in {getattr(end.details, "approver", None) for end in ends}  # type: ignore[union-attr]
    desk.check(given.run_id)


def test_a_stub_grants_nothing(desk: Forks) -> None:
    """Where nobody answers, nobody has approved."""
    run_id = record(desk.path, fork_fleet.refund, "alice")
    asked = desk.place(run_id, "clerk", "ask_person")
    done = desk.fork(run_id, ForkOptions(from_event=asked, miss="stub"))
    assert done.ended == "OK"
    assert [name for name, _ in desk.calls(done.run_id, "clerk")] == ["look_up", "decide", "ask_person"]


def test_a_refusal_of_an_approval_is_a_what_if(desk: Forks) -> None:
    """The same run, had the person said no."""
    run_id = record(desk.path, fork_fleet.refund, "alice")
    no = Override("approval", desk.place(run_id, "clerk", "ask_person"), {**GRANT, "granted": False})
    done = desk.fork(run_id, ForkOptions(overrides=(no,)))
    assert done.ended == "OK"
    assert ("pay", "OK") not in desk.calls(done.run_id, "clerk")
    desk.check(done.run_id)


def test_an_effect_that_nothing_answers_never_leaves(desk: Forks) -> None:
    """By default the fork stops there; with a stub it goes on, and the effect is still not executed."""
    run_id = record(desk.path, fork_fleet.talk)
    EXECUTED.clear()
    no = result(desk.place(run_id, "planner", "decide"), {"answer": "no"})
    stopped = desk.fork(run_id, ForkOptions(overrides=(no,)))
    assert stopped.ended.startswith("FixtureMiss: the recording has no answer to tool pay (step 2 of 'payer')")
    done = desk.fork(run_id, ForkOptions(overrides=(no,), miss="stub"))
    assert done.ended == "OK"
    moves = [event for event in desk.events(done.run_id) if isinstance(event, EffectTransitioned)]
    assert [move.to_state for move in moves] == [EffectState.FAILED]
    assert EXECUTED == []
    desk.check(done.run_id)


def _pays(run: Run, to: str, key: str) -> object:
    with run.agent("clerk") as agent:
        return agent.call(fork_fleet.pay, to, 12, key)


def _decided_in_between(path: Path, *, happened: bool) -> str:
    """A run in which a person decides between two attempts under one key."""
    with Recorder(path) as recorder, recorder.run("decided", entrypoint="fork_fleet:twice") as run:

        def decided() -> None:
            recorder.flush()
            recorder.reconcile(f"{run.id}/clerk#1.2", happened, "looked it up", "dora")

        fork_fleet.DECIDED.append(decided)
        fork_fleet.twice(run)
        fork_fleet.DECIDED.clear()
        return run.id


def _ledger(desk: Forks, *run_ids: str) -> list[EffectState]:
    return [row.state for run_id in run_ids for row in desk.home.catalogue.effects(run_id)]


def _signatures(desk: Forks, run_id: str) -> set[str]:
    state = empty(run_id)
    for event in desk.events(run_id):
        state = fold(state, event)
    return {hit.name for hit in signatures(state)}


def test_a_refusal_reaches_control_logic(desk: Forks) -> None:
    """It is the exception that a recorder raises, and control logic may handle it."""
    run_id = record(desk.path, fork_fleet.stubborn)
    done = desk.fork(run_id, ForkOptions(entrypoints=swap("stubborn", "gives_in")))
    assert done.ended == "OK"
    (end,) = named(desk.events(done.run_id), "RunFinished")
    assert end.result.inline == b'"ReconciliationRequired"'  # type: ignore[union-attr]
    assert issubclass(ReconciliationRequired, Exception)
