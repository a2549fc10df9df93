"""Which of several differences is the first: what control logic did otherwise, and not what followed from it elsewhere."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from replaying import replayed
from tachograph.core.boundary import Run, tool
from tachograph.core.replay import DivergenceKind
from tachograph.producers import Recorder

ARGUMENT, EXTRA = DivergenceKind.ARGUMENT_CHANGED, DivergenceKind.CALL_EXTRA
OUTCOME = DivergenceKind.OUTCOME_CHANGED


@tool()
async def answers(number: int, seconds: float) -> int:
    """A call that takes its time."""
    await asyncio.sleep(seconds)
    return number


async def recorded(run: Run) -> object:
    """As it is recorded: nobody cancels the helper."""
    return await fleet(run, "nothing")


async def fleet(run: Run, change: str) -> object:
    """Two agents; the helper's call is out when the other one does something else, and cancels it."""
    async with run.agent("boss") as boss:

        async def helped() -> object:
            async with boss.agent("helper") as helper:
                return await helper.call(answers, 1, 0.05)

        task = asyncio.create_task(helped())
        await boss.call(answers, 2, 0.005)
        if change == "cancelled first":
            task.cancel()
        if change == "inserted":
            boss.new_id("new")
        await boss.call(answers, 4 if change == "argument" else 3, 0.005)
        if change not in ("nothing", "cancelled first"):
            task.cancel()
        return (await asyncio.gather(task, return_exceptions=True))[0]


@pytest.mark.parametrize(
    ("change", "kind", "agent"),
    [("argument", ARGUMENT, "boss"), ("inserted", EXTRA, "boss"), ("cancelled first", OUTCOME, "helper")],
)
def test_a_call_that_is_cancelled_because_of_a_change_is_not_the_first(
    tmp_path: Path, change: str, kind: DivergenceKind, agent: str
) -> None:
    """Although it began before the change; one that is cancelled by itself is."""
    with Recorder(tmp_path / "home") as recorder:
        asyncio.run(_recorded(recorder))
        assert recorder.latest_run_id is not None
        run_id = recorder.latest_run_id

    async def changed(run: Run) -> object:
        return await fleet(run, change)

    verdict, _ = replayed(tmp_path / "home", run_id, changed)
    first = verdict.first_divergence
    assert first is not None
    assert (first.kind, first.agent_id) == (kind, agent)


async def _recorded(recorder: Recorder) -> None:
    await recorder.record(recorded)
