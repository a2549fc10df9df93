"""Control logic that computes on and on without a step is stopped by processor time, and the verdict says where it was."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from replays import Replays, limited, line_at, reproduced
from tachograph.replay_workers._process import ReplayProcess

LIMIT = 0.3
"""Seconds of processor time."""


@pytest.fixture(scope="module")
def replays(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replays]:
    """A home to record in."""
    with ReplayProcess() as process:
        yield Replays(tmp_path_factory.mktemp("spinning"), process)


SYNC = """
def compute():
    PLACE

def desk(run):
    with run.agent("clerk") as agent:
        agent.call(work, 1)
        agent.set_state("looked up", True)
        compute()
        agent.call(work, 2)
"""
ASYNC = (
    SYNC.replace("def desk", "async def desk")
    .replace("    with", "    async with")
    .replace("agent.call", "await agent.call")
)
THREAD = ASYNC.replace("        compute()", "        await asyncio.to_thread(compute)")
LOOP = "while True: pass  # it spins here"


@pytest.mark.parametrize(
    ("source", "spins"),
    [
        (SYNC, LOOP),
        (ASYNC, LOOP),
        (THREAD, LOOP),
        (ASYNC, "from functools import reduce; reduce(lambda one, other: other, range(10 ** 12))  # it spins here"),
        # What it is halted with is swallowed, time and again.
        (
            SYNC,
            "while True:\n        try:\n            while True: pass  # it spins here\n        except BaseException: pass",
        ),
    ],
    ids=["sync", "async", "thread", "library", "swallowing"],
)
def test_a_loop_without_a_step_is_stopped(replays: Replays, source: str, spins: str) -> None:
    """The verdict names the last step, and file and line where it was."""
    run_id = replays.record(source.replace("PLACE", "pass"))
    verdict = limited(replays.replay(run_id, source.replace("PLACE", spins), cpu_seconds_max=LIMIT))
    (missing,) = [text for text in verdict.missing if "processor time" in text]
    assert f"{LIMIT} seconds" in missing
    assert "behind step 2 of 'clerk' (looked up)" in missing
    assert "--cpu-seconds-max" in missing
    assert "it spins here" in line_at(_place(missing))


def test_one_endless_call_into_c_is_ended(replays: Replays) -> None:
    """No handler of Python's runs in it, and still the verdict says where it is."""
    run_id = replays.record(SYNC.replace("PLACE", "pass"))
    source = SYNC.replace("PLACE", "return sum(range(10 ** 14))  # it spins here")
    verdict = limited(replays.replay(run_id, source, cpu_seconds_max=LIMIT))
    (missing,) = verdict.missing
    assert "too much processor time" in missing
    assert "it spins here" in line_at(_place(missing))
    reproduced(replays.replay(run_id, cpu_seconds_max=LIMIT))


def test_a_module_that_spins_is_stopped(replays: Replays) -> None:
    """Importing control logic counts as well."""
    source = SYNC.replace("PLACE", "pass")
    verdict = limited(replays.replay(replays.record(source), f"{source}\n{LOOP}\n", cpu_seconds_max=LIMIT))
    (missing,) = [text for text in verdict.missing if "processor time" in text]
    assert "before its first step" in missing
    assert "it spins here" in line_at(_place(missing))


def test_computing_between_steps_is_no_spinning(replays: Replays) -> None:
    """What counts is the time since the last step, and a piece of a stream is as good as one."""
    source = """
import time

def busy():
    for number in range(100_000): str(number)

def pieces():
    yield from range(12)

def desk(run):
    with run.agent("clerk") as agent:
        for number in range(12):
            busy()
            agent.call(work, number)
        for piece in agent.stream(pieces):
            busy()
"""
    reproduced(replays.replay(replays.record(source), cpu_seconds_max=LIMIT))


def _place(missing: str) -> str:
    found = re.search(r"it was at (\S+:\d+) in ", missing)
    assert found is not None, missing
    return found[1]
