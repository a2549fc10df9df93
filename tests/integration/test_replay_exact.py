"""What a replay hands to control logic is what the recording handed over: values, types, order, errors, pieces."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from recordings import events_of, named
from replays import Replays, diverged, imported, reproduced, sides
from tachograph.core.canonical import decode_body
from tachograph.core.replay import DivergenceKind
from tachograph.producers import Recorder
from tachograph.replay_workers._process import ReplayProcess
from tachograph.schemas import CallFinished


@pytest.fixture(scope="module")
def process() -> Iterator[ReplayProcess]:
    """One replaying process for all tests: it forks a child per replay."""
    with ReplayProcess() as started:
        yield started


@pytest.fixture
def replays(tmp_path: Path, process: ReplayProcess) -> Replays:
    """A home of its own."""
    return Replays(tmp_path, process)


def test_parallel_answers_reach_their_callers(replays: Replays) -> None:
    """Calls of a `gather` that come back in another order than they went out keep their answers and their order."""
    source = """
ORDER = []

async def slow(name, seconds):
    await asyncio.sleep(seconds)
    return name

async def one(agent, name, seconds):
    answer = await agent.call(slow, name, seconds)
    assert answer == name
    ORDER.append(answer)
    agent.set_state("seen", list(ORDER))

async def desk(run):
    async with run.agent("clerk") as agent:
        await asyncio.gather(one(agent, "a", 0.03), one(agent, "b", 0.01), one(agent, "c", 0.02), one(agent, "d", 0))
"""
    run_id = replays.record(source)
    for _ in range(3):
        reproduced(replays.replay(run_id))


def test_parallel_answers_to_equal_questions_are_not_swapped(replays: Replays) -> None:
    """Equal questions at the same time get the answers that they got."""
    source = """
COUNT = iter(range(100))

async def ask():
    number = next(COUNT)
    await asyncio.sleep(0.01 * (3 - number % 4))
    return number

async def desk(run):
    async with run.agent("clerk") as agent:
        agent.set_state("answers", await asyncio.gather(*(agent.call(ask) for _ in range(8))))
"""
    reproduced(replays.replay(replays.record(source)))


def test_a_volatile_field_of_a_result_stays_what_it_was(replays: Replays) -> None:
    """A result that holds the time or an id goes into the next request as it was recorded."""
    source = """
import time, uuid

def look_up():
    return {"at": time.time(), "id": str(uuid.uuid4()), "price": 3}

def desk(run):
    with run.agent("clerk") as agent:
        found = agent.call(look_up)
        agent.model(work, value={"messages": [{"role": "tool", "content": str(found)}]})
"""
    assert reproduced(replays.replay(replays.record(source))).blocked == ()


def test_a_warm_cache_of_the_process_cannot_be_warm_in_a_replay(replays: Replays) -> None:
    """Each replay starts cold, in a process of its own: what a module keeps from one run is not there in the next."""
    source = """
CACHE = {}

def desk(run):
    with run.agent("clerk") as agent:
        if "rate" not in CACHE:
            CACHE["rate"] = agent.call(work, "load")
        agent.call(work, ["use", CACHE["rate"]])
"""
    directory = replays.code(source)
    with imported(directory) as module, Recorder(replays.path / "home") as recorder:
        recorder.record(module.desk)
        cold = recorder.latest_run_id
        recorder.record(module.desk)
        warm = recorder.latest_run_id
    assert cold is not None
    assert warm is not None
    for _ in range(2):
        reproduced(replays.replay(cold))
        found = diverged(replays.replay(warm))
        assert sides(found) == (DivergenceKind.CALL_EXTRA, 1, "work", "work")


def test_raw_model_answers_come_back_whole(replays: Replays) -> None:
    """Control logic sees the answer itself, usage and stop reason included; they are in the record as well."""
    source = """
ANSWER = {
    "content": [{"type": "text", "text": "hi"}],
    "stop_reason": "max_tokens",
    "model": "m-2",
    "usage": {"input_tokens": 11, "output_tokens": 7, "cache_read_input_tokens": 5},
    "score": 3.0,
}

def ask(**request):
    return ANSWER

def desk(run):
    with run.agent("clerk") as agent:
        answer = agent.model(ask, provider="p", messages=[{"role": "user", "content": "hello"}])
        agent.set_state("answer", answer)
        agent.set_state("stopped", answer["stop_reason"])
        agent.set_state("order", list(answer))
        return answer["usage"]["input_tokens"], type(answer["score"]).__name__
"""
    run_id = replays.record(source)
    reproduced(replays.replay(run_id))
    (finish,) = named(events_of(replays.home, run_id), "CallFinished")
    assert isinstance(finish, CallFinished)
    assert finish.usage is not None
    assert (finish.usage.input_tokens, finish.usage.output_tokens) == (11, 7)
    assert "max_tokens" in repr(finish.details)
    assert finish.result is not None
    assert b"max_tokens" in replays.home.body(finish.result, "")


STREAM = """
class Broken(Exception):
    pass

async def tokens(count, fails=False):
    for index in range(count):
        if index % 2:
            await asyncio.sleep(0.001)
        yield f"token {index}"
    if fails:
        raise Broken("in the middle")

async def desk(run):
    async with run.agent("clerk") as agent:
        whole = [piece async for piece in agent.stream(tokens, 5)]
        cut = []
        try:
            async for piece in agent.stream(tokens, 3, fails=True):
                cut.append(piece)
        except Broken as error:
            cut.append(str(error))
        stopped = []
        pieces = agent.stream(tokens, 9)
        async for piece in pieces:
            stopped.append(piece)
            if len(stopped) == 4:
                break
        await pieces.aclose()
        cancelled = []
        async def reads():
            async for piece in agent.stream(slowly):
                cancelled.append(piece)
        task = asyncio.create_task(reads())
        while not cancelled:
            await asyncio.sleep(0.001)
        task.cancel()
        await asyncio.wait([task])
        agent.set_state("pieces", [whole, cut, stopped, cancelled, task.cancelled()])

async def slowly():
    yield 1
    await asyncio.sleep(60)
    yield 2
"""


def test_streams_come_piece_by_piece(replays: Replays) -> None:
    """An error in the middle, a reader who stops, and one who is cancelled find what they found."""
    run_id = replays.record(STREAM)
    assert len(named(events_of(replays.home, run_id), "CallChunk")) == 5 + 3 + 4 + 1
    reproduced(replays.replay(run_id))


def test_a_reader_who_stops_elsewhere_is_noticed(replays: Replays) -> None:
    """A stream that is read on past the place where the recording stopped has no more pieces."""
    found = replays.changed(STREAM, ("len(stopped) == 4", "len(stopped) == 3"))
    assert (found.kind, found.step) == (DivergenceKind.OUTCOME_CHANGED, 3)
    assert "pieces read is 4 in the recording and 3 in the replay" in found.sentence
    found = replays.changed(STREAM, ("len(stopped) == 4", "len(stopped) == 5"))
    assert (found.kind, found.step) == (DivergenceKind.OUTCOME_CHANGED, 3)
    assert "in the recording it ends CANCELLED, in the replay OK" in found.sentence


def test_types_come_back_as_they_were(replays: Replays) -> None:
    """Neither dates, decimals, bytes, tuples, sets nor integral floats turn into something else."""
    source = """
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from uuid import UUID

def values():
    return {
        "when": datetime(2024, 5, 1, 12, tzinfo=timezone.utc), "day": date(2024, 5, 1), "span": timedelta(seconds=3),
        "price": Decimal("1.10"), "raw": b"\\x00\\xff", "pair": (1, (2.0, None)), "names": {"a", "b"},
        "id": UUID(int=7), "whole": 3.0, "large": 2**80, 5: "five", "nan": float("inf"),
    }

def desk(run):
    with run.agent("clerk") as agent:
        found = agent.call(values)
        agent.set_state("types", [f"{key!r} {type(value).__name__} {value!r}" for key, value in found.items() if key != "names"])
        agent.set_state("names", [type(found["names"]).__name__, sorted(found["names"])])
        found["pair"], found["names"] = None, None
        assert agent.call(values)["pair"] == (1, (2.0, None))
"""
    reproduced(replays.replay(replays.record(source)))


def test_registered_classes_come_back_as_they_were(replays: Replays) -> None:
    """Not as bare dicts; and not shared with what was handed over before."""
    source = """
from dataclasses import dataclass
from tachograph.core.canonical import register_codec

@dataclass
class Money:
    amount: int
    currency: str

register_codec("money", Money, lambda money: [money.amount, money.currency], lambda plain: Money(*plain))

def price():
    return Money(3, "EUR")

def desk(run):
    with run.agent("clerk") as agent:
        money = agent.call(price)
        agent.call(work, money)
        agent.set_state("type", type(money).__name__)
        money.amount = 4
        agent.call(work, [money, agent.call(price).amount])
"""
    directory = replays.code(source)
    with imported(directory) as module, Recorder(replays.path / "home") as recorder:
        recorder.record(module.desk)
        run_id = recorder.latest_run_id
    assert run_id is not None
    reproduced(replays.replay(run_id))


def test_errors_are_raised_again_as_they_were(replays: Replays) -> None:
    """Class, text, attributes and place in the `except` clauses."""
    source = """
class Refusal(Exception):
    def __init__(self, code):
        super().__init__(f"refused with {code}")
        self.code = code

class Worse(Refusal):
    pass

def fails(code):
    raise Worse(code)

def breaks(what):
    return {}[what]

def desk(run):
    with run.agent("clerk") as agent:
        try:
            agent.call(fails, 7)
        except Refusal as error:
            agent.set_state("refused", [type(error).__name__, str(error), error.code, repr(error)])
        try:
            agent.call(breaks, "key")
        except LookupError as error:
            agent.set_state("broken", [type(error).__name__, str(error), error.args])
"""
    reproduced(replays.replay(replays.record(source)))


def test_control_logic_that_ends_in_an_error_is_reproduced(replays: Replays) -> None:
    """The error is how the recording ended; with another one it would have diverged."""
    source = """
def desk(run):
    with run.agent("clerk") as agent:
        agent.call(work, 1)
        raise ValueError("as ever, at <object at 0x7f0012345678>")
"""
    run_id = replays.record(source)
    reproduced(replays.replay(run_id))
    reproduced(replays.replay(run_id, source.replace("0x7f0012345678", "0x7f00aaaaaaaa")))
    assert diverged(replays.replay(run_id, source.replace("as ever", "now"))).kind is DivergenceKind.OUTCOME_CHANGED


def test_runs_at_the_same_time_do_not_mix(replays: Replays) -> None:
    """Runs recorded side by side, on one loop and in threads, are each replayed from their own record."""
    source = """
async def slow(value):
    await asyncio.sleep(0.001)
    return value

async def desk(run, number):
    async with run.agent("clerk") as agent:
        for step in range(5):
            assert await agent.call(slow, [number, step]) == [number, step]
        agent.set_state("number", number)

def plain(run, number):
    with run.agent("clerk") as agent:
        for step in range(5):
            assert agent.call(work, [number, step]) == [number, step]
        agent.set_state("number", number)
"""
    runs: list[str] = []

    async def together(recorder: Recorder, entry: object) -> None:
        async def one(number: int) -> None:
            async with recorder.run("r", entrypoint="desk:desk", args=(number,)) as run:
                runs.append(run.id)
                assert callable(entry)
                await entry(run, number)

        await asyncio.gather(*(one(number) for number in range(4)))

    with imported(replays.code(source)) as module, Recorder(replays.path / "home") as recorder:
        asyncio.run(together(recorder, module.desk))

        def threaded(number: int) -> None:
            with recorder.run("t", entrypoint="desk:plain", args=(number,)) as run:
                runs.append(run.id)
                module.plain(run, number)

        with ThreadPoolExecutor(4) as threads:
            list(threads.map(threaded, range(4)))
    assert len(set(runs)) == 8
    for run_id in runs:
        reproduced(replays.replay(run_id))


def test_a_run_recorded_around_a_block_states_no_result(replays: Replays) -> None:
    """Where the recorder cannot know what the entry point gave, its result is not compared; its error is."""
    source = """
def desk(run, fails):
    with run.agent("clerk") as agent:
        agent.call(work, 1)
    if fails:
        raise ValueError("failed")
    return {"answer": 42}
"""
    with imported(replays.code(source)) as module, Recorder(replays.path / "home") as recorder:
        with recorder.run("block", entrypoint=module.desk, args=(False,)) as run:
            module.desk(run, False)
        good = recorder.latest_run_id
        with pytest.raises(ValueError), recorder.run("block", entrypoint=module.desk, args=(True,)) as run:  # noqa: PT011
            module.desk(run, True)
        bad = recorder.latest_run_id
    assert good is not None
    assert bad is not None
    reproduced(replays.replay(good))
    reproduced(replays.replay(bad))
    assert (
        diverged(replays.replay(good, source.replace("if fails", "if not fails"))).kind
        is DivergenceKind.OUTCOME_CHANGED
    )
    assert diverged(replays.replay(bad, source.replace('"failed"', '"fell"'))).kind is DivergenceKind.OUTCOME_CHANGED


def test_a_bad_clock_does_not_spoil_a_replay(replays: Replays) -> None:
    """Control logic that sees time stand still and go back sees the same again."""
    source = """
def desk(run):
    with run.agent("clerk") as agent:
        times = [agent.now() for _ in range(3)]
        agent.set_state("times", times)
        agent.set_state("went back", times[2] < times[1])
"""

    class Jumping:
        def __init__(self) -> None:
            self._times = iter([1_700_000_000_000_000, 1_700_000_009_000_000, 1_600_000_000_000_000])

        def now_us(self) -> int:
            return next(self._times, 1_700_000_000_000_000)

        def seed(self) -> int:
            return 1

        def new_id(self) -> str:
            return "id"

    with imported(replays.code(source)) as module, Recorder(replays.path / "home", sources=Jumping()) as recorder:
        recorder.record(module.desk)
        run_id = recorder.latest_run_id
    assert run_id is not None
    verdict = reproduced(replays.replay(run_id))
    assert verdict.served["clock"] == 3


def test_arguments_are_the_same_in_whatever_order_a_dict_was_built(replays: Replays) -> None:
    """Arguments, messages, facts and results are compared; what is handed to control logic keeps its order."""
    source = """
NAMES = ["gamma", "alpha", "beta"]

def tells():
    return {name: 1 for name in ["z", "a", "m"]}

def desk(run):
    names = {name: {name: 1, "x": 2} for name in NAMES}
    with run.agent("clerk") as agent, run.agent("other") as other:
        agent.call(work, names, )
        agent.model(work, value=names)
        agent.send("other", names)
        agent.set_state("names", names)
        agent.checkpoint("names", names)
        agent.artifact("names", names)
        agent.set_state("got", list(other.receive()))
        agent.set_state("told", list(agent.call(tells)))
        try:
            agent.call(str, set(NAMES))
        finally:
            return names
"""
    run_id = replays.record(source)
    changed = source.replace('["gamma", "alpha", "beta"]', '["beta", "gamma", "alpha"]')
    reproduced(replays.replay(run_id, changed))
    (finish,) = [
        event
        for event in named(events_of(replays.home, run_id), "CallFinished")
        if isinstance(event, CallFinished) and event.result and b'"z"' in replays.home.body(event.result, "")
    ]
    assert finish.result is not None
    assert list(decode_body(replays.home.body(finish.result, ""))) == ["z", "a", "m"]  # type: ignore[call-overload]


def test_a_run_is_not_disturbed_by_what_runs_beside_it(replays: Replays) -> None:
    """A recording made while other threads make objects, take turns and end is replayed as any other."""
    source = """
async def slow(value):
    await asyncio.sleep(0.0005)
    return value

async def desk(run):
    async with run.agent("clerk") as agent:
        await asyncio.gather(*(agent.call(slow, number) for number in range(20)))
"""
    stop = threading.Event()

    def busy() -> None:
        while not stop.is_set():
            sorted(range(1000))

    before = sys.getswitchinterval()
    thread = threading.Thread(target=busy)
    thread.start()
    try:
        sys.setswitchinterval(1e-5)
        run_id = replays.record(source)
    finally:
        sys.setswitchinterval(before)
        stop.set()
        thread.join()
    reproduced(replays.replay(run_id))
