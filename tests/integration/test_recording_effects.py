"""Effects: durable before they leave, refused while an earlier attempt is UNKNOWN, decided by reconcilers or persons."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable
from pathlib import Path

import pytest

from recordings import check_run, events_of, named, payloads_of
from tachograph.core.boundary import Receipted, Run
from tachograph.core.canonical import decode_body
from tachograph.core.errors import AgentMisuse, EffectAlreadyConfirmed, ReconciliationRequired, UnknownEffect
from tachograph.producers import OpenEffect, Recorder, reconcile_service, tool
from tachograph.schemas import CallFinished, CallOutcome, CallStarted, EffectState, EffectTransitioned
from tachograph.stores import Home

Moves = list[tuple[str, str]]


class Refused(Exception):
    """The provider says no: nothing has happened."""


@tool(effect="write", idempotency_key=lambda to, outcome="": to, failed=(Refused,))
def pay(to: str, outcome: str = "") -> object:
    """Pay somebody, or fail in one of the ways in which payments fail."""
    if outcome == "refused":
        raise Refused(to)
    if outcome == "lost":
        raise ConnectionResetError("the line went dead")
    if outcome == "late":
        raise TimeoutError
    return Receipted({"paid": to}, {"receipt": 7})


@tool(effect="write")
async def post(text: str) -> str:
    """An effect without an idempotency key."""
    await asyncio.sleep(0)
    return text


def test_an_effect_is_planned_executed_and_confirmed_with_its_receipt(tmp_path: Path) -> None:
    """The ledger's moves are events; control logic gets the value, the record gets the receipt."""

    def pays(run: Run) -> object:
        with run.agent("a") as agent:
            return agent.call(pay, "bob")

    with Recorder(tmp_path / "home") as recorder:
        assert recorder.record(pays) == {"paid": "bob"}
        events = check_run(payloads_of(recorder.home, recorder.latest_run_id))
        effects = [event for event in events if isinstance(event, EffectTransitioned)]
        assert _moves(effects) == [("PLANNED", "EXECUTING"), ("EXECUTING", "CONFIRMED")]
        assert effects[0].effect_id == f"{recorder.latest_run_id}/a#1.2"
        assert (effects[0].name, effects[0].idempotency_key, effects[0].by) == ("pay", "bob", "recorder")
        (end,) = [event for event in events if isinstance(event, CallFinished)]
        for receipt in (effects[1].receipt, end.receipt):
            assert receipt is not None
            assert decode_body(recorder.home.body(receipt, "")) == {"receipt": 7}


@pytest.mark.parametrize(
    ("outcome", "state", "status"),
    [
        ("refused", EffectState.FAILED, CallOutcome.ERROR),
        ("lost", EffectState.UNKNOWN, CallOutcome.UNKNOWN),
        ("late", EffectState.UNKNOWN, CallOutcome.UNKNOWN),
    ],
)
def test_how_an_effect_fails_decides_where_it_stands(
    tmp_path: Path, outcome: str, state: EffectState, status: CallOutcome
) -> None:
    """Only an exception that proves the opposite makes a failed effect FAILED; every other one leaves it UNKNOWN."""

    def pays(run: Run) -> None:
        with run.agent("a") as agent, pytest.raises((Refused, OSError)):
            agent.call(pay, "bob", outcome=outcome)

    with Recorder(tmp_path / "home") as recorder:
        recorder.record(pays)
        events = check_run(payloads_of(recorder.home, recorder.latest_run_id))
    assert [event.to_state for event in events if isinstance(event, EffectTransitioned)][-1] is state
    assert [event.outcome for event in events if isinstance(event, CallFinished)] == [status]


def test_a_retry_after_unknown_is_refused_and_the_refusal_recorded(tmp_path: Path) -> None:
    """The second attempt never reaches the tool: control logic gets ReconciliationRequired, which names the effect."""
    calls: list[str] = []

    @tool(effect="write", idempotency_key=lambda to: to)
    def mail(to: str) -> None:
        calls.append(to)
        raise ConnectionResetError("accepted, then gone")

    def retries(run: Run) -> None:
        with run.agent("a") as agent:
            with pytest.raises(ConnectionResetError):
                agent.call(mail, "bob")
            with pytest.raises(ReconciliationRequired, match="tacho reconcile run-"):
                agent.call(mail, "bob")
            with pytest.raises(ConnectionResetError):
                agent.call(mail, "eve")

    with Recorder(tmp_path / "home") as recorder:
        recorder.record(retries)
        events = check_run(payloads_of(recorder.home, recorder.latest_run_id))
    assert calls == ["bob", "eve"]
    starts = [event for event in events if isinstance(event, CallStarted)]
    assert [(event.idempotency_key, event.attempt) for event in starts] == [("bob", 1), ("bob", 2), ("eve", 1)]
    ends = [event for event in events if isinstance(event, CallFinished)]
    assert ends[1].outcome is CallOutcome.ERROR
    assert ends[1].error is not None
    assert ends[1].error.type.endswith(".ReconciliationRequired")
    assert {event.effect_id for event in events if isinstance(event, EffectTransitioned)} == {
        f"{starts[0].meta.run_id}/a#1.{starts[index].meta.seq}" for index in (0, 2)
    }


def test_an_effect_that_happened_is_not_executed_again(tmp_path: Path) -> None:
    """Under the same key it is refused in the same run, in a later run, and after a restart."""

    def pays(run: Run) -> None:
        with run.agent("a") as agent:
            agent.call(pay, "bob")

    with Recorder(tmp_path / "home") as recorder:
        recorder.record(pays)
        with pytest.raises(EffectAlreadyConfirmed):
            recorder.record(pays)
    with Recorder(tmp_path / "home") as restarted, pytest.raises(EffectAlreadyConfirmed):
        restarted.record(pays)
    with Recorder(tmp_path / "home", tenant="another") as other:
        other.record(pays)


def test_of_two_attempts_at_once_one_is_refused(tmp_path: Path) -> None:
    """Concurrent tasks and threads under one key: the tool runs once."""
    calls: list[str] = []

    @tool(effect="write", idempotency_key=lambda to: to)
    async def mail(to: str) -> str:
        calls.append(to)
        await asyncio.sleep(0)
        return to

    async def races(run: Run) -> list[object]:
        async with run.agent("a") as agent:
            return list(await asyncio.gather(*(agent.call(mail, "bob") for _ in range(5)), return_exceptions=True))

    with Recorder(tmp_path / "home") as recorder:
        results = asyncio.run(_recorded(recorder, races))
        events = check_run(payloads_of(recorder.home, recorder.latest_run_id))
    assert isinstance(results, list)
    assert calls == ["bob"]
    assert results.count("bob") == 1
    assert sum(isinstance(result, ReconciliationRequired) for result in results) == 4
    finished = [event.outcome for event in events if isinstance(event, CallFinished)]
    assert sorted(finished) == sorted([CallOutcome.OK] + [CallOutcome.ERROR] * 4)
    moves = [event for event in events if isinstance(event, EffectTransitioned)]
    assert [event.to_state for event in moves].count(EffectState.EXECUTING) == 1


def test_effects_without_a_key_are_recorded_and_never_refused(tmp_path: Path) -> None:
    """Nothing tells them apart, so the ledger lets them pass; each has its own entry."""

    async def posts(run: Run) -> None:
        async with run.agent("a") as agent:
            await agent.call(post, "hello")
            await agent.call(post, "hello")

    with Recorder(tmp_path / "home") as recorder:
        asyncio.run(_recorded(recorder, posts))
        events = check_run(payloads_of(recorder.home, recorder.latest_run_id))
    assert _moves(named_effects(events)) == [("PLANNED", "EXECUTING"), ("EXECUTING", "CONFIRMED")] * 2


def test_an_effect_is_on_disk_before_it_runs(tmp_path: Path) -> None:
    """When the tool runs, another reader of the home sees its EXECUTING; the loop was not blocked meanwhile."""
    seen: list[list[str]] = []
    ticks: list[int] = []

    @tool(effect="write")
    async def looks(run_id: str) -> None:
        events = events_of(tmp_path / "home", run_id)
        seen.append([event.to_state.value for event in events if isinstance(event, EffectTransitioned)])

    async def runs(run: Run) -> None:
        async with run.agent("a") as agent:
            ticking = asyncio.create_task(_tick(ticks))
            await agent.call(looks, run.id)
            ticking.cancel()

    with Recorder(tmp_path / "home") as recorder:
        asyncio.run(_recorded(recorder, runs))
        assert recorder.statistics().fsyncs >= 2
    assert seen == [["EXECUTING"]]
    assert ticks


def test_effects_that_wait_together_share_an_fsync(tmp_path: Path) -> None:
    """Group commit: twenty concurrent effects cost a few fsyncs, not twenty."""

    async def many(run: Run) -> None:
        async with run.agent("a") as agent:
            await asyncio.gather(*(agent.call(post, str(number)) for number in range(20)))

    with Recorder(tmp_path / "home", fsync_interval_ms=60_000) as recorder:
        asyncio.run(_recorded(recorder, many))
        assert recorder.statistics().fsyncs <= 4


def test_an_effect_cancelled_before_it_left_did_not_happen(tmp_path: Path) -> None:
    """Control logic that stops waiting for the disk leaves a FAILED effect behind, which may be tried again."""
    calls: list[str] = []

    @tool(effect="write", idempotency_key=lambda to: to)
    async def mail(to: str) -> None:
        calls.append(to)

    async def stops(run: Run) -> None:
        async with run.agent("a") as agent:
            task = asyncio.create_task(agent.call(mail, "bob"))
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert calls == []
            await agent.call(mail, "bob")

    with Recorder(tmp_path / "home") as recorder:
        asyncio.run(_recorded(recorder, stops))
        events = check_run(payloads_of(recorder.home, recorder.latest_run_id))
    assert calls == ["bob"]
    assert _moves(named_effects(events)) == [
        ("PLANNED", "EXECUTING"),
        ("EXECUTING", "FAILED"),
        ("PLANNED", "EXECUTING"),
        ("EXECUTING", "CONFIRMED"),
    ]
    assert [event.outcome for event in events if isinstance(event, CallFinished)] == [
        CallOutcome.CANCELLED,
        CallOutcome.OK,
    ]


def test_an_effect_that_outlives_its_agent_is_unknown(tmp_path: Path) -> None:
    """The agent ends while its effect is out: the ledger says UNKNOWN, before the agent's end."""

    async def leaves(run: Run) -> None:
        left, gate = asyncio.Event(), asyncio.Event()

        @tool(effect="write", idempotency_key=lambda: "k")
        async def slow() -> None:
            left.set()
            await gate.wait()

        async with run.agent("a") as agent:
            task = asyncio.create_task(agent.call(slow))
            await left.wait()
        gate.set()
        await task

    with Recorder(tmp_path / "home") as recorder:
        asyncio.run(_recorded(recorder, leaves))
        events = check_run(payloads_of(recorder.home, recorder.latest_run_id))
    assert _moves(named_effects(events))[-1] == ("EXECUTING", "UNKNOWN")
    assert named_effects(events)[-1].reason == "the agent ended before the effect came back"


def test_an_effect_whose_agent_ends_before_it_left_never_leaves(tmp_path: Path) -> None:
    """The agent ends while the record is on its way to the disk: the tool does not run, and the ledger says FAILED."""
    calls: list[int] = []

    @tool(effect="write")
    async def never() -> None:
        calls.append(1)

    async def leaves(run: Run) -> None:
        async with run.agent("a") as agent:
            task = asyncio.create_task(agent.call(never))
            await asyncio.sleep(0)
        with pytest.raises(AgentMisuse):
            await task

    with Recorder(tmp_path / "home") as recorder:
        asyncio.run(_recorded(recorder, leaves))
        events = check_run(payloads_of(recorder.home, recorder.latest_run_id))
    assert calls == []
    assert _moves(named_effects(events)) == [("PLANNED", "EXECUTING"), ("EXECUTING", "FAILED")]


def test_a_person_decides_an_unknown_effect(tmp_path: Path) -> None:
    """The decision is an event in a stream of its own, caused by the call; what did not happen may be tried again."""

    def loses(run: Run, to: str, outcome: str) -> None:
        with run.agent("a") as agent:
            agent.call(pay, to, outcome=outcome)

    with Recorder(tmp_path / "home") as recorder:
        for to in ("bob", "eve"):
            with pytest.raises(ConnectionResetError):
                recorder.record(loses, to, "lost")
        unknown = [row.effect_id for row in recorder.home.catalogue.effects()]
        recorder.reconcile(unknown[0], True, "the bank shows it", by="maria")
        recorder.reconcile(unknown[1], False, "the bank does not know it", by="reconciler:bank")
        with pytest.raises(EffectAlreadyConfirmed):
            recorder.record(loses, "bob", "")
        recorder.record(loses, "eve", "")
        with pytest.raises(UnknownEffect, match="RECONCILED"):
            recorder.reconcile(unknown[0], True, "again", by="maria")
        with pytest.raises(UnknownEffect):
            recorder.reconcile("run-x/a#1.2", True, "nobody", by="maria")
        events = check_run(payloads_of(recorder.home, unknown[0].partition("/")[0]))
    (decision,) = named(events, "EffectTransitioned", "reconciler")
    assert isinstance(decision, EffectTransitioned)
    assert (decision.from_state, decision.to_state, decision.by, decision.reason) == (
        EffectState.UNKNOWN,
        EffectState.RECONCILED,
        "person:maria",
        "the bank shows it",
    )
    (start,) = named(events, "AgentStarted", "reconciler")
    assert [(cause.agent_id, cause.seq) for cause in start.meta.causes] == [("a", 2)]


def test_reconcilers_are_asked_about_their_tools(tmp_path: Path) -> None:
    """Each is told name, key and arguments; what it does not know, or fails to find out, stays UNKNOWN."""
    asked: list[OpenEffect] = []

    def bank(effect: OpenEffect) -> bool | None:
        asked.append(effect)
        if effect.idempotency_key == "eve":
            raise TimeoutError
        return {"bob": True, "dan": None}[effect.idempotency_key or ""]

    def loses(run: Run, to: str) -> None:
        with run.agent("a") as agent:
            agent.call(pay, to, outcome="lost")

    with Recorder(tmp_path / "home") as recorder:
        for to in ("bob", "dan", "eve"):
            with pytest.raises(ConnectionResetError):
                recorder.record(loses, to)
        recorder.register_reconciler("pay", bank)
        decisions = recorder.reconcile_unknown()
        assert [(decision.effect.idempotency_key, decision.happened) for decision in decisions] == [
            ("bob", True),
            ("dan", None),
            ("eve", None),
        ]
        states = {row.idempotency_key: row.state for row in recorder.home.catalogue.effects()}
    assert states == {"bob": EffectState.RECONCILED, "dan": EffectState.UNKNOWN, "eve": EffectState.UNKNOWN}
    assert asked[0].arguments == {"args": ["bob"], "kwargs": {"outcome": "lost"}}


def test_the_reconcile_service_decides_in_any_home(tmp_path: Path) -> None:
    """The service opens the home, decides, and seals its log; it makes no home where there is none."""

    def loses(run: Run) -> None:
        with run.agent("a") as agent:
            agent.call(pay, "bob", outcome="lost")

    with Recorder(tmp_path / "home") as recorder, pytest.raises(ConnectionResetError):
        recorder.record(loses)
    (row,) = Home.open(tmp_path / "home").catalogue.effects()
    reconcile_service(tmp_path / "home", row.effect_id, False, "not there", "person:maria")
    assert Home.open(tmp_path / "home").catalogue.effect(row.effect_id).state is EffectState.FAILED
    with pytest.raises(Exception, match="not a Tachograph home"):
        reconcile_service(tmp_path / "nowhere", row.effect_id, False, "not there", "person:maria")
    assert not (tmp_path / "nowhere").exists()


def test_synchronous_effects_in_threads_are_each_durable(tmp_path: Path) -> None:
    """Threads that wait for the disk at the same time all get what they wait for."""

    def pays(run: Run) -> None:
        with run.agent("a") as agent:
            threads = [threading.Thread(target=agent.call, args=(pay, f"to-{number}")) for number in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

    with Recorder(tmp_path / "home") as recorder:
        recorder.record(pays)
        events = check_run(payloads_of(recorder.home, recorder.latest_run_id))
    assert [event.to_state for event in named_effects(events)].count(EffectState.CONFIRMED) == 8


def named_effects(events: Iterable[object]) -> list[EffectTransitioned]:
    """The ledger's moves."""
    return [event for event in events if isinstance(event, EffectTransitioned)]


def _moves(effects: list[EffectTransitioned]) -> Moves:
    return [(effect.from_state.value, effect.to_state.value) for effect in effects]


async def _tick(ticks: list[int]) -> None:
    while True:
        ticks.append(1)
        await asyncio.sleep(0)


async def _recorded(recorder: Recorder, entrypoint: object) -> object:
    return await recorder.record(entrypoint)  # type: ignore[call-overload,arg-type]  # any asynchronous entry point
