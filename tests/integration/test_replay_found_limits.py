"""What a verdict may claim: where evidence is less, where another exception stood in, where nothing ever ends."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from recordings import events_of
from replays import HEAD, Replays, diverged, limited, reproduced
from tachograph.core.errors import MissingBody
from tachograph.core.ports import ForkOptions
from tachograph.core.replay import DivergenceKind, explain
from tachograph.core.state import empty, fold, replayability
from tachograph.replay_workers._fork import fork_run
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


SCRIPT = """
class Bad(Exception):
    pass

def fails():
    raise Bad("no")

def desk(run):
    with run.agent("clerk") as agent:
        try:
            agent.call(fails)
        except Bad:
            agent.call(work, "caught")
    with run.agent("other") as agent:
        agent.call(fails)

if __name__ == "__main__":
    import sys
    from tachograph.producers import Recorder
    with Recorder(sys.argv[1]) as recorder:
        try:
            recorder.record(desk)
        except Bad:
            print(recorder.latest_run_id)
"""


def test_exceptions_of_a_script_are_its_own(replays: Replays) -> None:
    """The class of a module that was run as `__main__` is found under the name that it is imported by."""
    file = replays.code(SCRIPT) / "desk.py"
    ran = subprocess.run(
        [sys.executable, str(file), str(replays.path / "home")],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )
    reproduced(replays.replay(ran.stdout.strip()))


def test_a_divergence_behind_a_stand_in_is_not_held_against_the_replay(replays: Replays) -> None:
    """Where an exception's class is not to be had, what follows may come from that: LIMITED, and it is said."""
    source = """
class Bad(Exception):
    pass

def fails():
    raise Bad("no")

def desk(run):
    with run.agent("clerk") as agent:
        try:
            agent.call(fails)
        except Bad:
            agent.call(work, "caught")
"""
    run_id = replays.record(source)
    without = source.replace("class Bad(Exception)", "class Worse(Exception)").replace('raise Bad("no")', "pass")
    other = without.replace("except Bad", "except Worse")
    verdict = limited(replays.replay(run_id, other))
    assert any("Bad" in sentence and "raises=" in sentence for sentence in verdict.missing), verdict.missing
    assert any("Bad" in sentence for sentence in verdict.taints)
    assert verdict.control_flow == "not_proved"


DESK = """
def desk(run, count):
    with run.agent("clerk") as agent:
        for number in range(count):
            agent.call(work, {"number": number, "text": "x" * 40_000})
    return count
"""


def test_a_changed_argument_alone_leaves_control_flow_reproduced(replays: Replays) -> None:
    """The same calls in the same order, with other content."""
    run_id = replays.record(DESK, 5)
    verdict = replays.replay(run_id, DESK.replace('"number": number', '"number": max(number, 1)'))
    assert diverged(verdict).kind is DivergenceKind.ARGUMENT_CHANGED
    assert (verdict.control_flow, verdict.state, verdict.content) == ("reproduced", "reproduced", "diverged")
    turned = DESK.replace('"number": number', '"number": max(number, 1)').replace(
        "    return", '        agent.set_state("more", 1)\n    return'
    )
    verdict = replays.replay(run_id, turned)
    assert diverged(verdict).kind is DivergenceKind.ARGUMENT_CHANGED
    assert verdict.control_flow == "diverged"


IMPORTED = """
from tachograph.schemas import Fidelity

def desk(run):
    run.imported("elsewhere", Fidelity.CONTROL_FLOW, ("prompts",))
    return 1
"""


def test_a_fork_is_no_better_than_its_parent(replays: Replays) -> None:
    """Its grade is the parent's, and says whose."""
    run_id = replays.record(IMPORTED)
    assert _grade(replays, run_id) == "CONTROL_FLOW"
    with ReplayProcess() as process:
        forked = fork_run(replays.home, run_id, ForkOptions(), process)
    assert _grade(replays, forked.run_id) == "CONTROL_FLOW"
    with ReplayProcess() as process:
        again = fork_run(replays.home, forked.run_id, ForkOptions(), process)
    assert _grade(replays, again.run_id) == "CONTROL_FLOW"


def _grade(replays: Replays, run_id: str) -> str:
    state = empty(run_id)
    for event in events_of(replays.home, run_id):
        state = fold(state, event)
    return replayability(state).grade.value


def test_a_fork_of_a_run_without_a_body_is_refused(replays: Replays) -> None:
    """Nothing is written that would claim anything."""
    run_id = replays.record(DESK, 1)
    for path in (replays.path / "home" / "objects").rglob("*"):
        if path.is_file():
            path.unlink()
    with ReplayProcess() as process, pytest.raises(MissingBody):
        fork_run(replays.home, run_id, ForkOptions(), process)
    assert set(replays.home.log.run_ids()) == {run_id}


def test_a_loop_without_a_step_is_stopped(replays: Replays) -> None:
    """The limit is named; nobody waits for the wall limit."""
    source = """
async def desk(run):
    async with run.agent("clerk") as agent:
        await agent.call(work, 1)
"""
    run_id = replays.record(source)
    endless = source + "        while True:\n            await asyncio.sleep(0)\n"
    verdict = limited(replays.replay(run_id, endless, seconds_max=60.0))
    assert any("1,000,000 turns" in sentence for sentence in verdict.missing), verdict.missing


def test_an_input_without_a_consequence_is_not_explained_as_a_difference(replays: Replays) -> None:
    """Both sides did the same; that is not told as if both did nothing."""
    source = """
import time

def desk(run):
    with run.agent("clerk") as agent:
        time.time()
        agent.call(work, 1)
"""
    verdict = limited(replays.replay(replays.record(source)))
    assert verdict.first_divergence is not None
    text = "\n".join(explain(verdict.first_divergence))
    assert "past the boundary" in text
    assert "nothing more" not in text


def test_a_recording_that_breaks_off_counts_no_step_that_it_does_not_have(replays: Replays) -> None:
    """The replay of what is there has at most as many steps as the recording."""
    directory = replays.code(DESK)
    script = HEAD + "import os, sys\nfrom tachograph.producers import Recorder\nimport desk as module\n"
    script += "recorder = Recorder(sys.argv[1])\nopening = recorder.run('x', entrypoint=module.desk, args=(3,))\n"
    script += "run = opening.__enter__()\nagent = run.agent('clerk').__enter__()\nagent.call(work, 1)\n"
    script += "recorder.flush()\nprint(run.id, flush=True)\nos._exit(0)\n"
    ran = subprocess.run(
        [sys.executable, "-c", script, str(replays.path / "home")],
        capture_output=True, text=True, check=True, cwd=directory, env={**os.environ, "PYTHONPATH": str(directory)},
    )  # fmt: skip
    verdict = replays.replay(ran.stdout.strip(), DESK.replace('{"number": number, "text": "x" * 40_000}', "1"))
    assert limited(verdict).steps_replayed <= verdict.steps_recorded
