"""Every way in which tasks of control logic meet is reproduced: recorded for real, replayed without a world."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from pathlib import Path

import pytest

import engine_programs as programs
from replaying import replayed
from tachograph.core.ports import ReplayOptions
from tachograph.core.replay import VerdictStatus, explain
from tachograph.producers import Recorder
from tachograph.replay_workers import replay

PROGRAMS: tuple[Callable[..., object], ...] = (
    programs.gathers,
    programs.first_of,
    programs.as_they_come,
    programs.group,
    programs.times_out,
    programs.meets,
    programs.spins,
    programs.sleeps,
    programs.converses,
    programs.streams,
    programs.errors,
    programs.cancels_within,
    programs.works_elsewhere,
    programs.threads,
    programs.loops_inside,
    programs.reopens,
    programs.reads,
)


def recorded(home: Path, program: Callable[..., object], times: int = 1) -> list[str]:
    """Record a program; its run ids."""
    run_ids: list[str] = []
    with Recorder(home) as recorder:
        for _ in range(times):
            if inspect.iscoroutinefunction(program):
                asyncio.run(recorder.record(program))
            else:
                recorder.record(program)
            assert recorder.latest_run_id is not None
            run_ids.append(recorder.latest_run_id)
    return run_ids


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_it_is_reproduced(program: Callable[..., object], tmp_path: Path) -> None:
    """Each of several recordings, whose answers came at other moments, and nothing is a matter of luck."""
    for run_id in recorded(tmp_path / "home", program, 5):
        verdict, _ = replayed(tmp_path / "home", run_id, program, guard=program is not programs.threads)
        first = verdict.first_divergence
        assert verdict.status is VerdictStatus.REPRODUCED, (verdict.missing, explain(first) if first else None)
        assert not verdict.taints


def test_it_is_reproduced_in_a_process_of_its_own(tmp_path: Path) -> None:
    """As the service does it."""
    run_ids = [recorded(tmp_path / "home", program)[0] for program in PROGRAMS]
    for program, result in zip(
        PROGRAMS, replay(tmp_path / "home", run_ids, ReplayOptions(), 2, lambda *_: None), strict=True
    ):
        assert result.verdict.status is VerdictStatus.REPRODUCED, (program.__name__, result.verdict, result.error)


def test_runs_that_shared_a_loop_are_reproduced_apart(tmp_path: Path) -> None:
    """Fifty at once in one process and one loop: each is replayed as if it had been alone."""

    async def together(recorder: Recorder) -> None:
        await asyncio.gather(*(recorder.record(programs.meets) for _ in range(50)))

    with Recorder(tmp_path / "home") as recorder:
        asyncio.run(together(recorder))
        run_ids = list(recorder.home.log.run_ids())
    assert len(run_ids) == 50
    for run_id in run_ids:
        assert replayed(tmp_path / "home", run_id, programs.meets)[0].status is VerdictStatus.REPRODUCED
