"""What a recorder writes for what control logic does: asyncio, plain functions and threads alike."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from recordings import check_run, events_of, kinds, named, payloads_of
from tachograph.core.boundary import Run, RunContext, SyncAgent
from tachograph.core.canonical import decode_body
from tachograph.core.errors import AgentMisuse, InvalidIdentifier, UnserialisableValue
from tachograph.core.testing import FixedClock, SeededSources
from tachograph.producers import Recorder, tool
from tachograph.schemas import (
    AgentFinished,
    AgentStarted,
    ArtifactWritten,
    CallChunk,
    CallFinished,
    CallOutcome,
    CallStarted,
    Checkpointed,
    EndOutcome,
    Fidelity,
    MessageReceived,
    MessageSent,
    RunFinished,
    RunImported,
    RunStarted,
    StateChanged,
)


class Shop(Exception):
    """What goes wrong in a shop."""


@tool(version="2")
async def look_up(ticket: str) -> dict[str, object]:
    """Find a ticket."""
    await asyncio.sleep(0)
    return {"ticket": ticket, "price": 12.0, "pair": (1, 2)}


def divide(a: int, b: int) -> float:
    """Divide."""
    return a / b


async def desk(run: Run, ticket: str, *, limit: int) -> dict[str, object]:
    """Two agents who look something up and talk about it."""
    async with run.agent("triage", role="first line") as triage, run.agent("billing") as billing:
        found = await triage.call(look_up, ticket)
        waiting = asyncio.create_task(billing.receive())
        await triage.send("billing", {"refund": limit})
        message = await waiting
        triage.set_state("ticket", found)
        triage.checkpoint("looked up", {"step": 1})
        triage.artifact("note", "refunded", "text/plain")
        return {"found": found, "message": message}


def ledger(run: Run, start: int) -> int:
    """The same in plain functions."""
    with run.agent("clerk") as clerk:
        with clerk.agent("helper") as helper:
            assert helper.call(divide, start, 2) == start / 2
            with pytest.raises(ZeroDivisionError):
                helper.call(divide, start, 0)
            helper.send("clerk", [1, 2])
        assert clerk.receive() == [1, 2]
        return clerk.random("dice").randint(1, 6)


def test_asynchronous_control_logic_is_recorded(tmp_path: Path) -> None:
    """Calls, messages, state, checkpoints and artifacts stand in each agent's stream in the order in which they were."""
    with Recorder(tmp_path / "home") as recorder:
        result = asyncio.run(_awaited(recorder, "T-1"))
        events = check_run(payloads_of(recorder.home, recorder.latest_run_id))
        bodies = recorder.home
    assert result["message"] == {"refund": 7}
    assert kinds(events, "run") == ["RunStarted", "RunFinished"]
    assert kinds(events, "triage") == [
        "AgentStarted", "CallStarted", "CallFinished", "MessageSent", "StateChanged", "Checkpointed", "ArtifactWritten",
        "AgentFinished",
    ]  # fmt: skip
    assert kinds(events, "billing") == ["AgentStarted", "CallStarted", "MessageReceived", "AgentFinished"]
    (started,) = named(events, "RunStarted")
    assert isinstance(started, RunStarted)
    assert started.name == "desk"
    assert started.entrypoint == f"{__name__}:desk"
    assert decode_body(bodies.body(started.arguments, "")) == {"args": ["T-1"], "kwargs": {"limit": 7}}
    (finished,) = named(events, "RunFinished")
    assert isinstance(finished, RunFinished)
    assert finished.outcome is EndOutcome.OK
    assert finished.result is not None
    assert decode_body(bodies.body(finished.result, "")) == result
    assert {cause.agent_id for cause in finished.meta.causes} == {"triage", "billing"}


def test_what_an_event_says_is_what_happened(tmp_path: Path) -> None:
    """Names, versions, deliveries, causes and payloads of the events are those of the calls."""
    with Recorder(tmp_path / "home") as recorder:
        asyncio.run(_awaited(recorder, "T-1"))
        events = events_of(recorder.home, recorder.latest_run_id)
        home = recorder.home
    call, finish, sent, state, checkpoint, artifact = named(events, "CallStarted", "triage") + [
        event for event in events if event.meta.agent_id == "triage" and event.meta.seq in (3, 4, 5, 6, 7)
    ]
    assert isinstance(call, CallStarted)
    assert (call.kind, call.name, call.version, call.effect) == ("tool", "look_up", "2", "none")
    assert decode_body(home.body(call.arguments, "")) == {"args": ["T-1"], "kwargs": {}}
    assert isinstance(finish, CallFinished)
    assert (finish.call_id, finish.outcome, finish.yields) == (call.meta.seq, CallOutcome.OK, 1)
    assert finish.result is not None
    assert decode_body(home.body(finish.result, "")) == {"ticket": "T-1", "price": 12.0, "pair": (1, 2)}
    assert isinstance(sent, MessageSent)
    assert isinstance(state, StateChanged)
    assert state.key == "ticket"
    assert isinstance(checkpoint, Checkpointed)
    assert checkpoint.name == "looked up"
    assert isinstance(artifact, ArtifactWritten)
    assert artifact.media_type == "text/plain"
    (received,) = named(events, "MessageReceived")
    assert isinstance(received, MessageReceived)
    assert (received.message_id, received.from_agent_id) == (sent.message_id, "triage")
    assert [(cause.agent_id, cause.seq) for cause in received.meta.causes] == [("triage", sent.meta.seq)]
    assert received.body == sent.body
    opened = named(events, "AgentStarted", "triage")[0]
    assert isinstance(opened, AgentStarted)
    assert (opened.role, opened.parent_agent_id) == ("first line", "run")
    assert [(cause.agent_id, cause.seq) for cause in opened.meta.causes] == [("run", 1)]


def test_synchronous_control_logic_is_recorded(tmp_path: Path) -> None:
    """Without an event loop the same events are written, and exceptions are recorded as they were raised."""
    with Recorder(tmp_path / "home", sources=SeededSources(3)) as recorder:
        recorder.record(ledger, 10)
        events = check_run(payloads_of(recorder.home, recorder.latest_run_id))
    assert kinds(events, "helper") == [
        "AgentStarted",
        *["CallStarted", "CallFinished"] * 2,
        "MessageSent",
        "AgentFinished",
    ]
    failed = [event for event in named(events, "CallFinished") if isinstance(event, CallFinished) and event.error]
    (error,) = [event.error for event in failed]
    assert error is not None
    assert error.type == "builtins.ZeroDivisionError"
    assert error.bases == ("builtins.ArithmeticError", "builtins.Exception")
    assert error.message == "division by zero"
    draws = [event for event in named(events, "CallStarted", "clerk") if isinstance(event, CallStarted)]
    assert [(event.kind, event.name) for event in draws] == [("messages", "receive"), ("random", "dice")]
    opened = named(events, "AgentStarted", "helper")[0]
    assert isinstance(opened, AgentStarted)
    assert opened.parent_agent_id == "clerk"


def test_the_time_an_agent_was_told_stands_in_its_later_events(tmp_path: Path) -> None:
    """Clock reads come from the sources, and what an agent does after one carries that time."""

    def reads(run: Run) -> None:
        with run.agent("a") as agent:
            agent.set_state("before", 1)
            agent.now()
            agent.set_state("after", 2)

    with Recorder(tmp_path / "home", sources=FixedSources(1_700_000_000_000_000)) as recorder:
        recorder.record(reads)
        events = events_of(recorder.home, recorder.latest_run_id)
    times = [event.meta.logical_time_us for event in named(events, "StateChanged")]
    assert times == [None, 1_700_000_000_000_000]


class FixedSources(SeededSources):
    """Seeded chance and a clock that stands."""

    def __init__(self, now_us: int) -> None:
        super().__init__(0)
        self._clock = FixedClock(now_us)

    def now_us(self) -> int:
        """Always the same."""
        return self._clock.now_us()


def test_streams_are_recorded_piece_by_piece(tmp_path: Path) -> None:
    """Each chunk is an event; an error in the middle and a reader who stops are recorded as such."""

    async def answer(count: int, *, fails: bool = False) -> AsyncIterator[str]:
        for index in range(count):
            yield f"piece {index}"
        if fails:
            raise Shop("closed")

    async def reads(run: Run) -> None:
        async with run.agent("a") as agent:
            assert [piece async for piece in agent.stream(answer, count=2)] == ["piece 0", "piece 1"]
            with pytest.raises(Shop):
                assert [piece async for piece in agent.stream(answer, count=1, fails=True)]
            pieces = agent.stream(answer, count=5)
            assert await anext(pieces) == "piece 0"
            await pieces.aclose()  # type: ignore[attr-defined]  # an asynchronous generator, seen as an iterator

    with Recorder(tmp_path / "home") as recorder:
        asyncio.run(_recorded(recorder, reads))
        events = check_run(payloads_of(recorder.home, recorder.latest_run_id))
    ends = [event for event in named(events, "CallFinished") if isinstance(event, CallFinished)]
    assert [(end.outcome, end.chunks) for end in ends] == [
        (CallOutcome.OK, 2),
        (CallOutcome.ERROR, 1),
        (CallOutcome.CANCELLED, 1),
    ]
    chunks = [event for event in named(events, "CallChunk") if isinstance(event, CallChunk)]
    assert [(chunk.call_id, chunk.index) for chunk in chunks] == [(2, 0), (2, 1), (6, 0), (9, 0)]


def test_synchronous_streams_are_recorded_piece_by_piece(tmp_path: Path) -> None:
    """A plain iterator is recorded in the same way."""

    def answer() -> Iterator[int]:
        yield from (1, 2, 3)

    def reads(run: Run) -> list[object]:
        with run.agent("a") as agent:
            return list(agent.stream(answer))

    with Recorder(tmp_path / "home") as recorder:
        assert recorder.record(reads) == [1, 2, 3]
        events = check_run(payloads_of(recorder.home, recorder.latest_run_id))
    assert len(named(events, "CallChunk")) == 3


def test_a_result_that_cannot_be_recorded_still_reaches_control_logic(tmp_path: Path) -> None:
    """Control logic gets the real object; the event says why it is not there, and it is counted."""

    class Handle:
        pass

    handle = Handle()

    def uses(run: Run) -> None:
        with run.agent("a") as agent:
            assert agent.call(lambda: handle) is handle
            agent.call(lambda: {"rows": [handle]})

    with Recorder(tmp_path / "home") as recorder:
        recorder.record(uses)
        assert recorder.statistics().unrecorded == 2
        events = check_run(payloads_of(recorder.home, recorder.latest_run_id))
    reasons = [event.unrecorded for event in named(events, "CallFinished") if isinstance(event, CallFinished)]
    assert reasons[0] is not None
    assert "Handle" in reasons[0]
    assert reasons[1] is not None
    assert "$.rows[0]" in reasons[1]


def test_an_argument_that_cannot_be_recorded_is_refused_before_the_call(tmp_path: Path) -> None:
    """The tool does not run, nothing is written, and the error names the place of the value."""
    calls: list[object] = []

    def refuses(run: Run) -> None:
        with run.agent("a") as agent:
            with pytest.raises(UnserialisableValue, match=r"\$\.args\[0\]"):
                agent.call(calls.append, object())
            with pytest.raises(UnserialisableValue):
                agent.send("b", {"x": object()})
            with pytest.raises(UnserialisableValue):
                agent.set_state("k", object())

    with Recorder(tmp_path / "home") as recorder:
        recorder.record(refuses)
        events = events_of(recorder.home, recorder.latest_run_id)
        with pytest.raises(UnserialisableValue):
            recorder.record(refuses_nothing, object())
    assert calls == []
    assert kinds(events, "a") == ["AgentStarted", "AgentFinished"]


def refuses_nothing(run: Run, value: object) -> None:
    """Control logic with an argument."""


def test_an_agent_cannot_be_used_after_its_end(tmp_path: Path) -> None:
    """A call on a closed agent is the caller's error, and says what to do; the log is as it was."""

    def uses(run: Run) -> None:
        with run.agent("a") as agent:
            pass
        with pytest.raises(AgentMisuse, match="await its tasks"):
            agent.call(divide, 1, 1)
        with pytest.raises(AgentMisuse), agent.agent("b"):
            pass

    with Recorder(tmp_path / "home") as recorder:
        recorder.record(uses)
        events = check_run(payloads_of(recorder.home, recorder.latest_run_id))
    assert kinds(events, "a") == ["AgentStarted", "AgentFinished"]


def test_a_result_that_comes_after_its_agents_end_reaches_its_caller(tmp_path: Path) -> None:
    """It is counted, the log ends with the agent's end, and nothing is raised into the tool's task."""

    async def leaves_early(run: Run) -> None:
        gate = asyncio.Event()

        async def slow() -> str:
            await gate.wait()
            return "late"

        async with run.agent("a") as agent:
            task = asyncio.create_task(agent.call(slow))
            await asyncio.sleep(0)
        gate.set()
        assert await task == "late"

    with Recorder(tmp_path / "home") as recorder:
        asyncio.run(_recorded(recorder, leaves_early))
        events = check_run(payloads_of(recorder.home, recorder.latest_run_id))
        assert recorder.statistics().late == 1
    assert kinds(events, "a") == ["AgentStarted", "CallStarted", "AgentFinished"]


def test_open_agents_end_with_their_run(tmp_path: Path) -> None:
    """Whoever is still open when control logic fails is closed as cancelled, before the run's end."""

    def fails(run: Run) -> None:
        run.agent("a").__enter__().agent("b").__enter__()
        raise Shop("burnt down")

    with Recorder(tmp_path / "home") as recorder:
        with pytest.raises(Shop):
            recorder.record(fails)
        events = check_run(payloads_of(recorder.home, recorder.latest_run_id))
    ends = [event for event in events if isinstance(event, AgentFinished | RunFinished)]
    assert [(end.meta.agent_id, end.outcome) for end in ends] == [
        ("b", EndOutcome.CANCELLED),
        ("a", EndOutcome.CANCELLED),
        ("run", EndOutcome.ERROR),
    ]
    assert isinstance(ends[-1], RunFinished)
    assert ends[-1].error is not None
    assert ends[-1].error.type.endswith("Shop")


def test_an_agent_opened_again_is_its_next_incarnation(tmp_path: Path) -> None:
    """One name, two lives: each has its own stream, numbered from 1."""

    def twice(run: Run) -> None:
        for _ in range(2):
            with run.agent("a") as agent:
                agent.set_state("k", 1)

    with Recorder(tmp_path / "home") as recorder:
        recorder.record(twice)
        events = check_run(payloads_of(recorder.home, recorder.latest_run_id))
    assert [event.meta.incarnation for event in named(events, "AgentStarted")] == [1, 2]


def test_ids_that_could_be_paths_are_refused(tmp_path: Path) -> None:
    """An agent cannot be named `../x`, neither as a child nor as a receiver nor when a process joins."""

    def tries(run: Run) -> None:
        with pytest.raises(InvalidIdentifier), run.agent("../x"):
            pass
        with run.agent("a") as agent, pytest.raises(InvalidIdentifier):
            agent.send("../x", 1)

    with Recorder(tmp_path / "home") as recorder:
        recorder.record(tries)
        with pytest.raises(InvalidIdentifier):
            recorder.join(RunContext("../../etc", "a", 1, 1, 0, ""), "b", joins)
        with pytest.raises(InvalidIdentifier):
            recorder.join("no context", "b", joins)


def joins(agent: SyncAgent) -> None:
    """Control logic of a joining process."""


def test_runs_without_an_entry_point_are_recorded(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """`with recorder.run(...)` records what happens inside; a closure is recorded with a warning, and is not re-driven."""
    with Recorder(tmp_path / "home") as recorder:
        with recorder.run("by hand", inputs={"prompt_bundle": "7"}) as run, run.agent("a") as agent:
            agent.call(divide, 4, 2)
        (started,) = named(check_run(payloads_of(recorder.home, recorder.latest_run_id)), "RunStarted")
        assert isinstance(started, RunStarted)
        assert (started.name, started.entrypoint) == ("by hand", None)
        inputs = decode_body(recorder.home.body(started.inputs, ""))
        assert isinstance(inputs, dict)
        assert inputs["prompt_bundle"] == "7"
        assert inputs["python"].startswith("CPython 3.")
        assert caplog.records == []
        recorder.record(lambda run: None)
    (record,) = caplog.records
    assert "not re-driven" in record.getMessage()


def test_an_imported_run_says_where_it_comes_from(tmp_path: Path) -> None:
    """An importer's statement is an event of the run's own stream."""
    with Recorder(tmp_path / "home") as recorder:
        with recorder.run("import") as run:
            run.imported("airline", Fidelity.CONTROL_FLOW, ["clock"], {"row": 3})
        (imported,) = named(check_run(payloads_of(recorder.home, recorder.latest_run_id)), "RunImported")
    assert isinstance(imported, RunImported)
    assert (imported.source, imported.fidelity, imported.missing) == ("airline", Fidelity.CONTROL_FLOW, ("clock",))


def test_concurrent_runs_in_one_loop_never_mix(tmp_path: Path) -> None:
    """Fifty runs at once, with agents of the same names: each run holds its own messages and results only."""

    async def one(run: Run, number: int) -> int:
        async with run.agent("a") as a, run.agent("b") as b:
            await a.send("b", number)
            await a.call(asyncio.sleep, 0)
            got = await b.receive()
            b.set_state("got", got)
            assert got == number
            return number

    async def all_of_them(recorder: Recorder) -> list[int]:
        return list(await asyncio.gather(*(recorder.record(one, number) for number in range(50))))

    with Recorder(tmp_path / "home") as recorder:
        assert asyncio.run(all_of_them(recorder)) == list(range(50))
        run_ids = list(recorder.home.log.run_ids())
        assert len(run_ids) == 50
        for run_id in run_ids:
            events = check_run(payloads_of(recorder.home, run_id))
            bodies = [
                decode_body(recorder.home.body(event.body, "")) for event in events if isinstance(event, MessageSent)
            ]
            values = [
                decode_body(recorder.home.body(event.value, "")) for event in events if isinstance(event, StateChanged)
            ]
            assert bodies == values
            assert len(events) == 2 + 4 + 2 + 3 + 1


def test_concurrent_runs_in_threads_never_mix(tmp_path: Path) -> None:
    """Eight threads with a run each; and messages between threads of one run."""

    def one(run: Run, number: int) -> None:
        with run.agent("a") as a, run.agent("b") as b:
            for step in range(20):
                a.send("b", [number, step])
            for step in range(20):
                assert b.receive() == [number, step]

    with Recorder(tmp_path / "home") as recorder:
        threads = [threading.Thread(target=recorder.record, args=(one, number)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        run_ids = list(recorder.home.log.run_ids())
        assert len(run_ids) == 8
        for run_id in run_ids:
            assert len(check_run(payloads_of(recorder.home, run_id))) == 2 + 4 + 20 + 40


def test_one_agent_used_from_many_threads_keeps_one_stream(tmp_path: Path) -> None:
    """The stream has no gap and no double number, whichever thread wrote what."""

    def shared(run: Run) -> None:
        with run.agent("a") as agent:
            threads = [threading.Thread(target=_calls, args=(agent, 50)) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

    with Recorder(tmp_path / "home") as recorder:
        recorder.record(shared)
        events = check_run(payloads_of(recorder.home, recorder.latest_run_id))
    assert len(named(events, "CallFinished", "a")) == 200


def _calls(agent: SyncAgent, count: int) -> None:
    for number in range(count):
        agent.call(divide, number, 1)


def test_the_sender_cannot_change_a_message_on_its_way(tmp_path: Path) -> None:
    """A message is what it was when it was sent: the receiver gets a copy, and both events hold the same."""

    def sends(run: Run) -> object:
        with run.agent("a") as a, run.agent("b") as b:
            parcel = {"items": [1]}
            a.send("b", parcel)
            parcel["items"].append(2)
            return b.receive()

    with Recorder(tmp_path / "home") as recorder:
        assert recorder.record(sends) == {"items": [1]}


def test_a_cancelled_receiver_loses_no_message(tmp_path: Path) -> None:
    """A message that came in the moment of the cancellation goes to the next `receive`."""

    async def gives_up(run: Run) -> object:
        async with run.agent("a") as a, run.agent("b") as b:
            waiting = asyncio.create_task(b.receive())
            await asyncio.sleep(0)
            await a.send("b", "hello")
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            return await b.receive()

    with Recorder(tmp_path / "home") as recorder:
        assert asyncio.run(_recorded(recorder, gives_up)) == "hello"
        events = check_run(payloads_of(recorder.home, recorder.latest_run_id))
    assert kinds(events, "b") == [
        "AgentStarted",
        "CallStarted",
        "CallFinished",
        "CallStarted",
        "MessageReceived",
        "AgentFinished",
    ]


async def _awaited(recorder: Recorder, ticket: str) -> dict[str, object]:
    return await recorder.record(desk, ticket, limit=7)


async def _recorded(recorder: Recorder, entrypoint: object) -> object:
    return await recorder.record(entrypoint)  # type: ignore[call-overload,arg-type]  # any asynchronous entry point


def test_a_timer_of_control_logic_is_an_event(tmp_path: Path) -> None:
    """When a pause is over nothing else tells a replay; timers of tools are the world's and are not recorded."""

    async def pauses(run: Run) -> None:
        async with run.agent("a") as agent:
            await asyncio.sleep(0.001)
            await agent.call(asyncio.sleep, 0.001)

    with Recorder(tmp_path / "home") as recorder:
        asyncio.run(_recorded(recorder, pauses))
        events = check_run(payloads_of(recorder.home, recorder.latest_run_id))
    assert kinds(events, "a") == ["AgentStarted", "TimerFired", "CallStarted", "CallFinished", "AgentFinished"]
