"""Whoever replays can be killed at any time: control logic that loops for ever does not outlive it."""

from __future__ import annotations

import os
import select
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from replays import Replays
from tachograph.replay_workers._process import ReplayProcess

DESK = """
def desk(run):
    with run.agent("clerk") as agent:
        agent.call(work, 1)
"""
LOOPS = (
    DESK
    + """
    while True:
        pass
"""
)
REPLAY = """
import sys
from pathlib import Path
from tachograph.core.ports import ReplayOptions
from tachograph.replay_workers import replay
home, run_id, code = sys.argv[1:]
replay(Path(home), [run_id], ReplayOptions(code=code, seconds_max=300.0), 1, lambda *_: None)
"""
SECONDS_MAX = 30.0


@pytest.fixture
def replays(tmp_path: Path) -> Iterator[Replays]:
    """A home of its own."""
    with ReplayProcess() as process:
        yield Replays(tmp_path, process)


def test_no_process_of_a_replay_outlives_whoever_asked_for_it(replays: Replays) -> None:
    """Both the replaying process and the child it forked are gone, though control logic never returns."""
    run_id = replays.record(DESK)
    arguments = [str(replays.path / "home"), run_id, str(replays.code(LOOPS))]
    with subprocess.Popen([sys.executable, "-c", REPLAY, *arguments]) as asking, ExitStack() as stack:
        stack.callback(asking.kill)
        replaying = _child(asking, asking.pid)
        forked = _child(asking, replaying)
        ends = [os.pidfd_open(replaying), os.pidfd_open(forked)]
        for end in ends:
            stack.callback(os.close, end)
        asking.kill()
        assert all(_has_ended(end) for end in ends)


def _child(asking: subprocess.Popen[bytes], pid: int) -> int:
    """The child of a process, once it has one."""
    children = Path(f"/proc/{pid}/task/{pid}/children")
    for _ in range(int(SECONDS_MAX * 100)):
        found = children.read_text().split()
        if found:
            return int(found[0])
        try:
            asking.wait(0.01)
        except subprocess.TimeoutExpired:
            continue
        pytest.fail("the replay ended, though its control logic loops for ever")
    pytest.fail(f"process {pid} has no child after {SECONDS_MAX} seconds")


def _has_ended(process: int) -> bool:
    """Whether a process has ended, or does so in time."""
    ended = select.poll()
    ended.register(process, select.POLLIN)
    return bool(ended.poll(SECONDS_MAX * 1_000))
