"""Control logic of any temper: it swallows, prints, starts threads, joins and comes back; the verdict stays true."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from recordings import events_of, named
from replays import HEAD, Replays, asked, diverged, imported, limited, reproduced
from tachograph.core.replay import DivergenceKind
from tachograph.producers import Recorder
from tachograph.replay_workers._process import ReplayProcess
from tachograph.schemas import AgentStarted


@pytest.fixture(scope="module")
def process() -> Iterator[ReplayProcess]:
    """One replaying process for all tests: it forks a child per replay."""
    with ReplayProcess() as started:
        yield started


@pytest.fixture
def replays(tmp_path: Path, process: ReplayProcess) -> Replays:
    """A home of its own."""
    return Replays(tmp_path, process)


@pytest.mark.parametrize("swallowed", ["Exception", "BaseException"])
@pytest.mark.parametrize("way", ["sync", "async"])
def test_a_divergence_cannot_be_swallowed(replays: Replays, swallowed: str, way: str) -> None:
    """Control logic that catches everything, and goes on, does not hide that it left its recording."""
    before = f"""
def desk(run):
    with run.agent("clerk") as agent:
        for number in range(40):
            try:
                agent.call(work, number)
            except {swallowed}:
                agent.call(work, "after all")
"""
    if way == "async":
        before = before.replace("def desk", "async def desk").replace("with run", "async with run")
        before = before.replace("agent.call", "await agent.call")
    found = replays.changed(before, ("work, number", "work, -number"))
    assert (found.kind, found.step) == (DivergenceKind.ARGUMENT_CHANGED, 2)
    assert (asked(found.recorded), asked(found.replayed)) == (1, -1)


def test_an_agent_that_ended_says_the_same_in_a_replay(replays: Replays) -> None:
    """Control logic may keep what it was told when it used an agent after its end, by whichever door."""
    source = """
def desk(run):
    said = []
    with run.agent("clerk") as agent:
        agent.call(work, 1)
    for use in (agent.now, lambda: agent.call(work, 2), lambda: agent.set_state("k", 1), lambda: opened(agent)):
        try:
            use()
        except Exception as error:
            said.append(f"{type(error).__name__}: {error}")
    return said

def opened(agent):
    with agent.agent("child"):
        pass
"""
    reproduced(replays.replay(replays.record(source)))


def test_control_logic_that_never_lets_go_is_stopped(tmp_path: Path) -> None:
    """A loop around the boundary that swallows the end of the replay as well runs into the wall limit, no further."""
    before = 'def desk(run):\n    with run.agent("clerk") as agent:\n        agent.call(work, 1)\n'
    after = """
def desk(run):
    with run.agent("clerk") as agent:
        while True:
            try:
                agent.call(work, 2)
            except BaseException:
                pass
"""
    with ReplayProcess() as process:
        replays = Replays(tmp_path, process)
        verdict = replays.replay(replays.record(before), after, seconds_max=1.0)
    assert verdict.status != "reproduced"
    assert verdict.live == {}


@pytest.mark.parametrize("way", ["print", "sys.__stdout__", "os.write", "logging", "faulthandler"])
def test_what_control_logic_prints_does_not_reach_the_protocol(
    replays: Replays, capfd: pytest.CaptureFixture[str], way: str
) -> None:
    """Neither the pipe to the parent nor anybody's terminal."""
    write = {
        "print": 'print("x" * 300_000, flush=True)',
        "sys.__stdout__": 'import sys; sys.__stdout__.write("noise"); sys.__stdout__.flush()',
        "os.write": 'import os; os.write(1, b"noise"); os.write(2, b"noise")',
        "logging": 'import logging; logging.basicConfig(force=True); logging.getLogger().error("noise")',
        "faulthandler": 'import sys; print("noise", file=sys.stderr); sys.stdout.fileno() if False else None',
    }[way]
    source = 'def desk(run):\n    with run.agent("clerk") as agent:\n        agent.call(work, 1)\n        WRITE\n'
    run_id = replays.record(source.replace("WRITE", "pass"))
    reproduced(replays.replay(run_id, source.replace("WRITE", write)))
    out, err = capfd.readouterr()
    assert (out, err) == ("", "")


def test_standard_input_is_empty(replays: Replays) -> None:
    """Control logic that asks at the terminal gets the end of the file at once."""
    before = 'def desk(run):\n    with run.agent("clerk") as agent:\n        agent.call(work, "")\n'
    run_id = replays.record(before)
    reproduced(replays.replay(run_id, before.replace('work, ""', "work, __import__('sys').stdin.read()")))


def test_plain_functions_and_nested_agents_are_replayed(replays: Replays) -> None:
    """Control logic without an event loop."""
    source = """
def desk(run, count):
    total = 0
    with run.agent("clerk") as agent:
        for number in range(count):
            with agent.agent(f"helper{number}", role="counts") as helper:
                total += helper.call(work, number)
                helper.send("clerk", {"total": total})
            assert agent.receive() == {"total": total}
            agent.set_state("total", total)
        for piece in agent.stream(tokens, 3):
            agent.checkpoint(piece)
    return total

def tokens(count):
    for index in range(count):
        yield f"token {index}"
"""
    verdict = reproduced(replays.replay(replays.record(source, 5)))
    assert verdict.agents == 7
    assert (verdict.served["tool"], verdict.served["messages"]) == (5, 5)


def test_threads_of_control_logic_are_replayed(replays: Replays) -> None:
    """An agent per thread: their streams are independent of how the threads take turns."""
    source = """
import threading
from concurrent.futures import ThreadPoolExecutor

def part(run, number):
    with run.agent(f"agent{number}") as agent:
        for step in range(10):
            agent.call(work, [number, step])
        return agent.random("dice").randint(1, 6)

def desk(run):
    with ThreadPoolExecutor(4) as threads:
        results = list(threads.map(lambda number: part(run, number), range(4)))
    return results
"""
    run_id = replays.record(source)
    for _ in range(3):
        verdict = replays.replay(run_id)
        assert verdict.divergences == () or {found.agent_id for found in verdict.divergences} == {"run"}
        assert verdict.served["tool"] == 40


def test_functions_in_threads_of_asyncio_are_replayed(replays: Replays) -> None:
    """`asyncio.to_thread` around control logic: it comes back where it came back."""
    source = """
def compute(number):
    return number * number

async def desk(run):
    async with run.agent("clerk") as agent:
        for number in range(3):
            square = await asyncio.to_thread(compute, number)
            await agent.call(work, square)
        await asyncio.gather(agent.call(work, "a"), asyncio.to_thread(compute, 5), agent.call(work, "b"))
"""
    reproduced(replays.replay(replays.record(source)))


JOINED = """
async def desk(run):
    async with run.agent("asker") as agent:
        HANDED.append((await run_context(agent)))
        READY.set()
        answers = []
        for number in range(3):
            await agent.send("worker", {"n": number})
            answers.append(await agent.receive())
        agent.set_state("answers", answers)

async def run_context(agent):
    return agent.context().to_text()

async def worker(agent, count):
    for _ in range(count):
        question = await agent.receive()
        square = await agent.call(work, question["n"] ** 2)
        await agent.send("asker", {"square": square})
    agent.set_state("answered", count)

class READY:
    set = staticmethod(lambda: None)

HANDED = []
"""


def _joined(replays: Replays, lives: tuple[int, ...] = (3,)) -> str:
    """A run that a second entry point joins, once for each life."""
    with imported(replays.code(JOINED)) as module, Recorder(replays.path / "home") as recorder:
        ready = asyncio.Event()

        class Ready:
            @staticmethod
            def set() -> None:
                ready.set()

        module.READY = Ready

        async def work() -> None:
            await ready.wait()
            for count in lives:
                await recorder.join(module.HANDED[0], "worker", module.worker, count)

        async def both() -> None:
            await asyncio.gather(_awaited(recorder, module.desk), work())

        asyncio.run(both())
        assert recorder.latest_run_id is not None
        return recorder.latest_run_id


async def _awaited(recorder: Recorder, entrypoint: object) -> None:
    assert callable(entrypoint)
    await recorder.record(entrypoint)


def test_joined_processes_are_units_of_their_own(replays: Replays) -> None:
    """Each entry point is re-driven by itself, from its own inputs."""
    run_id = _joined(replays)
    verdict = reproduced(replays.replay(run_id))
    assert (verdict.agents, verdict.served["messages"], verdict.served["tool"]) == (3, 6, 3)
    found = diverged(replays.replay(run_id, JOINED.replace('["n"] ** 2', '["n"] ** 3')))
    assert (found.agent_id, found.kind) == ("worker", DivergenceKind.ARGUMENT_CHANGED)
    found = diverged(replays.replay(run_id, JOINED.replace('{"n": number}', '{"n": number, "more": 1}')))
    assert found.agent_id == "asker"


def test_each_life_of_an_agent_is_replayed(replays: Replays) -> None:
    """A restarted agent is its next incarnation: two units, each with its own steps."""
    run_id = _joined(replays, (1, 2))
    lives = [event.meta.incarnation for event in named(events_of(replays.home, run_id), "AgentStarted", "worker")]
    assert lives == [1, 2]
    reproduced(replays.replay(run_id))
    changed = JOINED.replace('agent.set_state("answered", count)', 'agent.set_state("answered", max(count, 2))')
    found = diverged(replays.replay(run_id, changed))
    assert (found.agent_id, found.incarnation, found.kind) == ("worker", 1, DivergenceKind.STATE_CHANGED)


def test_an_agent_that_is_opened_twice_is_replayed_twice(replays: Replays) -> None:
    """Within one unit: its lives come in their order."""
    source = """
def desk(run):
    for life in range(3):
        with run.agent("clerk") as agent:
            agent.call(work, life)
"""
    run_id = replays.record(source)
    started = named(events_of(replays.home, run_id), "AgentStarted", "clerk")
    assert [event.meta.incarnation for event in started if isinstance(event, AgentStarted)] == [1, 2, 3]
    reproduced(replays.replay(run_id))
    found = diverged(replays.replay(run_id, source.replace("work, life", "work, max(life, 1)")))
    assert (found.agent_id, found.incarnation) == ("clerk", 1)


def test_a_context_that_is_handed_on_is_the_recorded_one(replays: Replays) -> None:
    """Trace and run ids that control logic passes to others between agents stay what they were."""
    source = """
def desk(run):
    agent_context = None
    with run.agent("clerk") as agent:
        agent.call(work, agent.context().to_text())
        agent.send("other", {"trace": run.context().to_text(), "run": run.id})
        agent.set_state("handed", agent.context().to_text())
"""
    reproduced(replays.replay(replays.record(source)))


def test_a_class_that_moved_to_another_module_still_reads_its_old_values(replays: Replays) -> None:
    """Values name their codec, not the module that their class was in."""
    old = """
from tachograph.core.canonical import register_codec

class Money:
    def __init__(self, amount):
        self.amount = amount

register_codec("test-money", Money, lambda money: money.amount, Money)

def price():
    return Money(3)

def desk(run):
    with run.agent("clerk") as agent:
        money = agent.call(price)
        agent.set_state("amount", money.amount)
"""
    run_id = replays.record(old)
    moved = old.replace(old[old.index("class Money") : old.index("def price")], "from money import Money\n\n")
    directory = replays.code(moved)
    head = HEAD + "from tachograph.core.canonical import register_codec\n"
    (directory / "money.py").write_text(head + old[old.index("class Money") : old.index("def price")])
    reproduced(replays.replay(run_id, code=str(directory)))


@pytest.mark.parametrize(
    "way",
    [
        "agent.call(tells)",
        "list(agent.stream(pieces))",
        "[None for _ in [0] if not raised(agent)]",
    ],
)
def test_a_value_whose_codec_is_gone_is_named(replays: Replays, way: str) -> None:
    """It does not come back as a bare dict."""
    source = """
from tachograph.core.canonical import register_codec

class Gone:
    pass

register_codec("test-gone", Gone, lambda gone: {"a": 1}, lambda plain: Gone())

def tells():
    return Gone()

def pieces():
    yield Gone()

def fails():
    raise ValueError(Gone())

def raised(agent):
    try:
        agent.call(fails)
    except ValueError as error:
        return type(error.args[0]) is Gone

def desk(run):
    with run.agent("clerk") as agent:
        WAY
        agent.set_state("type", 1)
""".replace("WAY", way)
    run_id = replays.record(source)
    without = source.replace('register_codec("test-gone", Gone, lambda gone: {"a": 1}, lambda plain: Gone())', "")
    verdict = limited(replays.replay(run_id, without))
    assert any("test-gone" in sentence for sentence in verdict.missing), verdict.missing


def test_arguments_whose_codec_is_gone_are_named(replays: Replays) -> None:
    """The entry point is not driven with something else."""
    source = """
from tachograph.core.canonical import register_codec

class Lost:
    pass

register_codec("test-lost", Lost, lambda lost: 1, lambda plain: Lost())

def desk(run, lost):
    with run.agent("clerk") as agent:
        agent.call(work, 1)
"""
    with imported(replays.code(source)) as module, Recorder(replays.path / "home") as recorder:
        recorder.record(module.desk, module.Lost())
        run_id = recorder.latest_run_id
    assert run_id is not None
    reproduced(replays.replay(run_id))
    verdict = limited(replays.replay(run_id, source.replace("\nregister_codec", "\n#")))
    assert any("test-lost" in sentence for sentence in verdict.missing), verdict.missing


def test_threads_that_outlive_the_recording_do_not_hold_a_replay(replays: Replays) -> None:
    """A thread of control logic that waits for ever dies with its process."""
    before = 'def desk(run):\n    START\n    with run.agent("clerk") as agent:\n        agent.call(work, 1)\n'
    run_id = replays.record(before.replace("START", "pass"))
    start = "import threading; threading.Thread(target=threading.Event().wait).start()"
    threads = threading.active_count()
    reproduced(replays.replay(run_id, before.replace("START", start)))
    assert threading.active_count() == threads
