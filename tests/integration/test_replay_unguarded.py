"""A module that runs something when it is imported: a replay says what it ran into, and what to do about it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from replays import Replays, limited, reproduced
from tachograph.core.ports import ReplayOptions
from tachograph.replay_workers import replay
from tachograph.replay_workers._process import ReplayProcess
from tachograph.stores import Home

REMEDY = 'put what starts a run or a program under `if __name__ == "__main__":`'

SCRIPT = """
import asyncio
from tachograph.producers import Recorder

def work(value):
    return value

async def desk(run):
    async with run.agent("clerk") as agent:
        await agent.call(work, 1)

async def main():
    with Recorder("home") as recorder:
        await recorder.record(desk)

asyncio.run(main())
"""


@pytest.fixture(scope="module")
def replays(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replays]:
    """A home to record in."""
    with ReplayProcess() as process:
        yield Replays(tmp_path_factory.mktemp("unguarded"), process)


def test_a_script_that_starts_its_run_without_a_guard(tmp_path: Path) -> None:
    """The verdict names the line that starts the run and the guard to put before it, and blames nothing else."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    subprocess.run([sys.executable, "script.py"], cwd=tmp_path, check=True)
    run_ids = list(Home.open(tmp_path / "home").log.run_ids())
    (result,) = replay(tmp_path / "home", run_ids, ReplayOptions(), 1, lambda *_: None)
    verdict = limited(result.verdict)
    (missing,) = verdict.missing
    assert f"{script}:{SCRIPT.splitlines().index('asyncio.run(main())') + 1}" in missing
    assert REMEDY in missing
    assert (verdict.taints, verdict.blocked) == ((), ())


CALL = """
async def desk(run):
    async with run.agent("clerk") as agent:
        await agent.call(work, FOUND)

FOUND = 1
"""


def test_a_loop_of_a_module_that_waits_for_ever_is_said(replays: Replays) -> None:
    """A server that is started when the module is imported."""
    source = f"{CALL}\nasyncio.run(asyncio.Event().wait())\n"
    (missing,) = limited(replays.replay(replays.record(CALL), source)).missing
    assert "waits for ever" in missing
    assert REMEDY in missing


def test_a_loop_of_a_module_that_ends_is_run(replays: Replays) -> None:
    """It does not wait: time is virtual there, too."""
    source = CALL.replace("FOUND = 1", "FOUND = asyncio.run(asyncio.sleep(WAIT, 1))")
    run_id = replays.record(source.replace("WAIT", "0"))
    reproduced(replays.replay(run_id, source.replace("WAIT", "3_600"), seconds_max=30.0))


def test_another_error_of_a_module_is_told_as_it_is(replays: Replays) -> None:
    """What has nothing to do with running gets no such advice."""
    (missing,) = limited(replays.replay(replays.record(CALL), f"{CALL}\nraise ValueError('no such thing')\n")).missing
    assert "importing it raised builtins.ValueError: no such thing" in missing
    assert REMEDY not in missing
