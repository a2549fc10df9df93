"""What an agent of a fork says otherwise reaches the others: those of its process, and those of other processes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import fork_fleet
from forks import Forks, forks, record, record_office, result, swap
from recordings import kinds, named
from tachograph.core.ports import ForkOptions, Override
from tachograph.core.replay import VerdictStatus
from tachograph.schemas import MessageReceived

GRANT = {"approver": "dora", "granted": True, "decided_at": 1, "expires_at": None}


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forks]:
    """A home to fork in."""
    with forks(tmp_path_factory.mktemp("forks") / "home") as found:
        yield found


@pytest.fixture(scope="module")
def talk(desk: Forks) -> str:
    """Two agents of one process."""
    return record(desk.path, fork_fleet.talk)


@pytest.fixture(scope="module")
def office(desk: Forks) -> str:
    """Two units."""
    return record_office(desk.path)


def test_another_message_reaches_an_agent_of_the_same_process(desk: Forks, talk: str) -> None:
    """The planner decides otherwise, so the payer pays somebody else; both differences are named."""
    no = result(desk.place(talk, "planner", "decide"), {"answer": "no"})
    done = desk.fork(talk, ForkOptions(overrides=(no,), miss="stub"))
    received = _received(desk, done.run_id, "payer")
    assert [desk.value(one) for one in received] == [{"to": "bob"}]
    assert [(cause.agent_id, cause.run_id) for cause in received[0].meta.causes] == [("planner", done.run_id)]
    assert any("'planner' sent 'payer' a message that its parent did not send" in text for text in done.verdict.taints)
    assert {found.agent_id for found in done.verdict.divergences} == {"planner", "payer", "run"}
    desk.check(done.run_id)


def test_a_message_can_be_overridden(desk: Forks, talk: str) -> None:
    """What if the payer had been told something else; the planner said what it said."""
    (received,) = _received(desk, talk, "payer")
    told = Override("message", _id(received), {"to": "carol"})
    done = desk.fork(talk, ForkOptions(overrides=(told,), miss="stub"))
    assert [desk.value(one) for one in _received(desk, done.run_id, "payer")] == [{"to": "carol"}]
    assert [desk.value(one) for one in named(desk.events(done.run_id), "MessageSent", "planner")] == [{"to": "alice"}]  # type: ignore[arg-type]
    desk.check(done.run_id)


def test_a_message_that_the_fork_does_not_send_is_given_as_recorded(desk: Forks, talk: str) -> None:
    """And named: its receiver knows more than it could."""
    done = desk.fork(talk, ForkOptions(entrypoints=swap("talk", "silent")))
    assert done.ended == "OK"
    (received,) = _received(desk, done.run_id, "payer")
    assert (desk.value(received), received.meta.causes) == ({"to": "alice"}, ())
    assert (
        "'payer' was given the recorded message of 'planner', which 'planner' did not send before it in the fork"
        in done.verdict.taints
    )
    desk.check(done.run_id)


def test_a_message_more_is_received(desk: Forks, talk: str) -> None:
    """An agent that asks once more gets what was sent once more."""
    done = desk.fork(talk, ForkOptions(entrypoints=swap("talk", "talkative")))
    assert done.ended == "OK"
    assert [desk.value(one) for one in _received(desk, done.run_id, "payer")] == [
        {"to": "alice"},
        {"to": "nobody else"},
    ]
    desk.check(done.run_id)


def test_who_waits_for_what_nobody_sends_stops_the_fork(desk: Forks, talk: str) -> None:
    """The recording has no second message, and nobody sends one."""
    done = desk.fork(talk, ForkOptions(entrypoints=swap("talk", "greedy")))
    assert done.ended.startswith("FixtureMiss: the recording has no answer to messages receive (step 2 of 'payer')")


def test_every_unit_is_driven(desk: Forks, office: str) -> None:
    """Without changes both units only replay, approvals included."""
    done = desk.fork(office)
    assert (done.ended, done.verdict.status, done.verdict.agents) == ("OK", VerdictStatus.REPRODUCED, 3)
    assert done.verdict.served["approval"] == 1
    desk.check(done.run_id)


def test_another_message_reaches_another_unit_and_its_answer_comes_back(desk: Forks, office: str) -> None:
    """The cashier is forked again with the boss's other order, and the boss with the cashier's other answer."""
    no = result(desk.place(office, "boss", "decide"), {"answer": "no"})
    granted = Override("approval", desk.place(office, "cashier", "ask_person"), GRANT)
    done = desk.fork(office, ForkOptions(overrides=(no, granted), miss="stub"))
    assert done.ended == "OK"
    assert [desk.value(one) for one in _received(desk, done.run_id, "cashier")] == [{"to": "bob"}]
    assert [desk.value(one) for one in _received(desk, done.run_id, "boss")] == ["paid bob"]
    assert kinds(desk.events(done.run_id), "cashier")[-1] == "AgentFinished"
    desk.check(done.run_id)


def test_approvals_of_a_unit_that_is_told_otherwise_do_not_count(desk: Forks, office: str) -> None:
    """The cashier was allowed to pay alice, not bob."""
    no = result(desk.place(office, "boss", "decide"), {"answer": "no"})
    done = desk.fork(office, ForkOptions(overrides=(no,), miss="stub"))
    assert [name for name, _ in desk.calls(done.run_id, "cashier")] == ["ask_person"]
    assert any(
        "approval ask_person (step 2 of 'cashier') was answered with a stub" in one for one in done.verdict.taints
    )


def test_a_unit_that_breaks_is_how_the_fork_ended(desk: Forks, office: str) -> None:
    """The mended cashier raises; the boss, which only replays, is given what was recorded."""
    done = desk.fork(office, ForkOptions(entrypoints=swap("cashier", "broken_cashier")))
    assert done.ended == "builtins.ValueError: no money"
    assert done.verdict.status is VerdictStatus.DIVERGED
    assert [desk.value(one) for one in _received(desk, done.run_id, "boss")] == ["paid alice"]
    desk.check(done.run_id)


def test_a_joined_process_starts_behind_what_opened_it(desk: Forks, office: str) -> None:
    """Causes lead from the joined unit to the fork's own root."""
    done = desk.fork(office)
    start = next(event for event in desk.events(done.run_id) if event.meta.agent_id == "cashier")
    assert [(cause.run_id, cause.agent_id) for cause in start.meta.causes] == [(done.run_id, "run")]


def _received(desk: Forks, run_id: str, agent_id: str) -> list[MessageReceived]:
    return [
        event for event in desk.events(run_id) if isinstance(event, MessageReceived) and event.meta.agent_id == agent_id
    ]


def _id(event: MessageReceived) -> str:
    meta = event.meta
    return f"{meta.run_id}/{meta.agent_id}#{meta.incarnation}.{meta.seq}"
