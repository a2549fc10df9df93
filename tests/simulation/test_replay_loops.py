"""Random fleets on several event loops of one unit, one after the other: each counts its turns from its first agent on.

Seeds are printed; `_programs(seed)` makes what ran on the two loops again.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import fleet_programs
from fleet_programs import Generator, Program
from replaying import replayed
from tachograph.core.boundary import Agent, Run, tool
from tachograph.core.replay import VerdictStatus, explain
from tachograph.producers import Recorder

SEEDS = range(60 if os.environ.get("TACHO_NIGHTLY") == "1" else 20)


def one_after_the_other(run: Run, programs: list[Program]) -> list[object]:
    """A synchronous entry point that runs two loops."""
    return [asyncio.run(fleet_programs.fleet(run, program)) for program in programs]


async def in_a_thread(run: Run, programs: list[Program]) -> list[object]:
    """A loop that waits for another one."""
    first = await fleet_programs.fleet(run, programs[0])
    return [first, await asyncio.to_thread(lambda: asyncio.run(fleet_programs.fleet(run, programs[1])))]


@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"
)  # what a search leaves off leaves its tasks
@pytest.mark.parametrize("entrypoint", [one_after_the_other, in_a_thread])
def test_loops_one_after_the_other_are_reproduced(tmp_path: Path, entrypoint: Callable[..., object]) -> None:
    """Whatever their agents do; no loop is taken for one that goes on at the same time."""
    print(f"seeds {SEEDS}")
    failed: list[str] = []
    with Recorder(tmp_path / "home") as recorder:
        for seed in SEEDS:
            _record(recorder, entrypoint, _programs(seed))
            assert recorder.latest_run_id is not None
            verdict, _ = replayed(tmp_path / "home", recorder.latest_run_id, entrypoint)
            if verdict.status is not VerdictStatus.REPRODUCED:
                first = verdict.first_divergence
                failed.append(f"seed {seed}: {verdict.status} {verdict.missing} {explain(first) if first else ''}")
    assert not failed, "\n".join(failed)


def _record(recorder: Recorder, entrypoint: Callable[..., object], programs: list[Program]) -> None:
    recorded = recorder.record(entrypoint, programs)
    if asyncio.iscoroutine(recorded):
        asyncio.run(recorded)


def _programs(seed: int) -> list[Program]:
    """Two programs whose agents have names of their own."""
    texts = [json.dumps(Generator(900_000 + 2 * seed + index).program()) for index in range(2)]
    return [json.loads(re.sub(r'"(agent\d)"', rf'"on{index}\1"', text)) for index, text in enumerate(texts)]


@tool()
def asked() -> None:
    """A call."""


def at_the_same_time(run: Run) -> None:
    """Two threads, each with a loop, that go on in turns."""
    turns = [threading.Semaphore(1), threading.Semaphore(0)]

    async def works(agent: Agent, index: int) -> None:
        for _ in range(2):
            await asyncio.to_thread(turns[index].acquire)
            await agent.call(asked)
            turns[1 - index].release()

    async def opened(index: int) -> None:
        async with run.agent(f"agent{index}") as agent:
            await works(agent, index)

    threads = [threading.Thread(target=lambda index=index: asyncio.run(opened(index))) for index in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@pytest.mark.parametrize("entrypoint", [at_the_same_time, one_after_the_other, in_a_thread])
def test_loops_that_go_on_at_the_same_time_are_warned_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, entrypoint: Callable[..., object]
) -> None:
    """Once, by the run's name: no recording can tell in which order they go on."""
    caplog.set_level(logging.WARNING, "tachograph.producers")
    with Recorder(tmp_path / "home") as recorder:
        if entrypoint is at_the_same_time:
            recorder.record(at_the_same_time)
        else:
            _record(recorder, entrypoint, _programs(0))
        run_id = recorder.latest_run_id
    warned = [record.getMessage() for record in caplog.records if "event loops" in record.getMessage()]
    assert len(warned) == (entrypoint is at_the_same_time)
    assert all(repr(run_id) in text for text in warned)
