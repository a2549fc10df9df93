"""Runs that somebody outside broke off, by a cancellation or with Ctrl-C, are replayed to the same end."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

from replays import Replays, diverged, imported, reproduced
from tachograph.core.replay import DivergenceKind
from tachograph.producers import Recorder
from tachograph.replay_workers._process import ReplayProcess


@pytest.fixture(scope="module")
def process() -> Iterator[ReplayProcess]:
    """One replaying process for all tests: it forks a child per replay."""
    with ReplayProcess() as started:
        yield started


@pytest.fixture
def replays(tmp_path: Path, process: ReplayProcess) -> Replays:
    """A home of its own."""
    return Replays(tmp_path, process)


SLOW = """
class Outside:
    reached = None

def arrive():
    if Outside.reached is not None:
        Outside.reached.set()

async def slow(value=None):
    arrive()
    await asyncio.Event().wait()

"""

Started = Callable[[Recorder, ModuleType], Awaitable[object]]


def _run(recorder: Recorder, module: ModuleType) -> Awaitable[object]:
    found = recorder.record(module.desk)
    assert isinstance(found, Awaitable)
    return found


def _cancelled(replays: Replays, source: str, started: Started = _run, turns: int = 3) -> str:
    """A run that is cancelled some turns after control logic came to a place that nobody releases it from."""

    async def outside(recorder: Recorder, module: ModuleType) -> None:
        module.Outside.reached = asyncio.Event()
        task = asyncio.ensure_future(started(recorder, module))
        await module.Outside.reached.wait()
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with imported(replays.code(SLOW + source)) as module, Recorder(replays.path / "home") as recorder:
        asyncio.run(outside(recorder, module))
        assert recorder.latest_run_id is not None
        return recorder.latest_run_id


CALL = """
async def desk(run):
    async with run.agent("clerk") as agent:
        await agent.call(work, 1)
        await agent.call(slow, 2)
        await agent.call(work, 3)
"""
SEVERAL = """
async def one(run, name, turns):
    async with run.agent(name) as agent:
        for number in range(turns):
            await agent.call(work, number)
        if name == "a":
            await agent.call(slow, name)
        elif name == "b":
            await agent.receive()
        else:
            arrive()
            await asyncio.sleep(10)

async def desk(run):
    await asyncio.gather(one(run, "a", 1), one(run, "b", 3), one(run, "c", 2))
"""
SLEEP = """
async def desk(run):
    async with run.agent("clerk") as agent:
        await agent.call(work, 1)
        arrive()
        await asyncio.sleep(10)
        await agent.call(work, 3)
"""
BETWEEN = """
async def desk(run):
    async with run.agent("clerk") as agent:
        await agent.call(work, 1)
    arrive()
    await asyncio.sleep(10)
"""
CLEANED = """
async def desk(run):
    async with run.agent("clerk") as agent:
        try:
            await agent.call(slow, 2)
        finally:
            await agent.call(work, "put away")
            agent.set_state("tidy", True)
"""
SPIN = """
async def desk(run):
    async with run.agent("clerk") as agent:
        await agent.call(work, 1)
        arrive()
        while True:
            await asyncio.sleep(0)
"""
WITHIN = """
async def desk(run):
    async with run.agent("clerk") as agent:
        try:
            await asyncio.wait_for(agent.call(slow, 1), 0.01)
        except TimeoutError:
            agent.set_state("timed out", True)
        Outside.reached.clear() if Outside.reached else None
        async with asyncio.timeout(10):
            await agent.call(slow, 2)
"""


@pytest.mark.parametrize(
    "source",
    [CALL, SEVERAL, SLEEP, BETWEEN, CLEANED, SPIN],
    ids=["call", "several", "sleep", "between", "cleaned", "spin"],
)
@pytest.mark.parametrize("turns", [0, 3])
def test_a_run_cancelled_from_outside_is_reproduced(replays: Replays, source: str, turns: int) -> None:
    """Wherever control logic waits: in a call, for a message, in a plain sleep, outside of any agent."""
    reproduced(replays.replay(_cancelled(replays, source, turns=turns)))


def test_a_time_out_of_whoever_records_is_reproduced(replays: Replays) -> None:
    """`asyncio.wait_for` around the recorder, beside a time-out of control logic itself."""

    async def started(recorder: Recorder, module: ModuleType) -> None:
        await asyncio.wait_for(_run(recorder, module), 0.05)

    with imported(replays.code(SLOW + WITHIN)) as module, Recorder(replays.path / "home") as recorder:
        with pytest.raises(TimeoutError):
            asyncio.run(started(recorder, module))
        run_id = recorder.latest_run_id
    assert run_id is not None
    reproduced(replays.replay(run_id))


def test_other_control_logic_is_not_excused_by_a_cancellation(replays: Replays) -> None:
    """What it did before the cancellation is held against the recording, and what it does after it."""
    run_id = _cancelled(replays, CLEANED)
    found = diverged(replays.replay(run_id, SLOW + CLEANED.replace('"put away"', '"throw away"')))
    assert (found.kind, found.step) == (DivergenceKind.ARGUMENT_CHANGED, 2)
    found = diverged(replays.replay(run_id, SLOW + CLEANED.replace("agent.call(slow, 2)", "asyncio.sleep(1)")))
    assert (found.kind, found.step) == (DivergenceKind.CALL_MISSING, 1)


def test_a_cancellation_that_control_logic_swallows_is_reproduced(replays: Replays) -> None:
    """The run goes on, and ends well."""
    source = """
async def desk(run):
    async with run.agent("clerk") as agent:
        try:
            await agent.call(slow, 2)
        except asyncio.CancelledError:
            await agent.call(work, "never mind")
    raise asyncio.CancelledError
"""
    reproduced(replays.replay(_cancelled(replays, source)))
    calm = source.replace("    raise asyncio.CancelledError\n", "    return 1\n")

    async def started(recorder: Recorder, module: ModuleType) -> None:
        await _run(recorder, module)
        raise asyncio.CancelledError

    reproduced(replays.replay(_cancelled(replays, calm, started)))


def test_a_joined_process_cancelled_from_outside_is_reproduced(replays: Replays) -> None:
    """Each unit has an end of its own."""
    source = """
async def desk(run):
    return run.context().to_text()

async def worker(agent):
    await agent.call(work, 1)
    await agent.call(slow, 2)
"""

    async def started(recorder: Recorder, module: ModuleType) -> None:
        context = await _run(recorder, module)
        await recorder.join(str(context), "worker", module.worker)

    verdict = reproduced(replays.replay(_cancelled(replays, source, started)))
    assert verdict.agents == 2


@pytest.mark.parametrize("way", ["call", "between"])
def test_a_keyboard_interrupt_is_reproduced(replays: Replays, way: str) -> None:
    """Ctrl-C in synchronous control logic, in a call or between two."""
    source = """
class Keys:
    pressed = False

def press(value=None):
    if Keys.pressed:
        raise KeyboardInterrupt

def desk(run):
    with run.agent("clerk") as agent:
        agent.call(work, 1)
        WAY
        agent.call(work, 2)
""".replace("WAY", {"call": "agent.call(press, 3)", "between": "press()"}[way])
    with imported(replays.code(source)) as module, Recorder(replays.path / "home") as recorder:
        module.Keys.pressed = True
        with pytest.raises(KeyboardInterrupt):
            recorder.record(module.desk)
        run_id = recorder.latest_run_id
    assert run_id is not None
    reproduced(replays.replay(run_id))
