"""A replay on a machine that holds it up: stopped again and again at any moment, it comes to the same verdict.

What stops it prints its seed.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

import held_up_fleet
from replaying import replayed
from tachograph.core.replay import VerdictStatus
from tachograph.producers import Recorder
from tachograph.replay_workers import _turns
from tachograph.replay_workers._rest import others_rest

SEEDS = range(20 if os.environ.get("TACHO_NIGHTLY") == "1" else 1)
_REPLAY = """
import sys
from pathlib import Path
from tachograph.core.ports import ReplayOptions
from tachograph.replay_workers import replay

if __name__ == "__main__":
    (result,) = replay(Path(sys.argv[1]), [sys.argv[2]], ReplayOptions(), 1, lambda *_: None)
    print(result.verdict.status, result.error or "", *result.verdict.missing)
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A home, and the run in it."""
    home = tmp_path_factory.mktemp("held_up") / "home"
    with Recorder(home) as recorder:
        recorder.record(held_up_fleet.fleet)
        assert recorder.latest_run_id is not None
        return home, recorder.latest_run_id


@pytest.mark.parametrize("seed", SEEDS)
def test_a_replay_that_is_stopped_at_any_moment_comes_to_its_verdict(recorded: tuple[Path, str], seed: int) -> None:
    """All of its processes at once, for longer than any thread would be waited for."""
    print(f"seed {seed}")
    home, run_id = recorded
    command = [sys.executable, "-c", _REPLAY, str(home), run_id]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    ) as replay:
        try:
            _hold_up(replay, random.Random(seed))
            output, _ = replay.communicate()
        finally:
            replay.kill()
    assert output.split() == ["reproduced"], f"seed {seed}: {output}"


def _hold_up(process: subprocess.Popen[str], pick: random.Random) -> None:
    """Stop a process and its children again and again, until it ends."""
    while not _ends_within(process, pick.uniform(0.002, 0.08)):
        with suppress(ProcessLookupError):  # it has just ended
            os.killpg(process.pid, signal.SIGSTOP)
            _ends_within(process, pick.choice((0.01, 0.1, 0.3)))
            os.killpg(process.pid, signal.SIGCONT)


def _ends_within(process: subprocess.Popen[str], seconds: float) -> bool:
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


@pytest.mark.parametrize("seconds", [0.000_01, 0.001, 0.1])
def test_how_long_a_thread_is_waited_for_is_no_matter(
    recorded: tuple[Path, str], monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    """Almost not at all, or long: a thread that computes is waited for."""
    monkeypatch.setattr(_turns, "_REST_SECONDS", seconds)
    home, run_id = recorded
    verdict, _ = replayed(home, run_id, held_up_fleet.fleet, guard=True)
    assert verdict.status is VerdictStatus.REPRODUCED


@pytest.mark.parametrize("seconds", [0.000_01, 0.02])
def test_a_thread_that_computes_does_not_rest_and_one_that_waits_does(seconds: float) -> None:
    """Whether it lets others run, or keeps the interpreter to itself."""

    def interpreted() -> None:
        for _ in range(2_000_000):
            pass

    def in_one_call() -> None:
        sum(range(20_000_000))

    for work in (interpreted, in_one_call):
        assert _rests_behind(work, seconds)


def _rests_behind(work: Callable[[], object], seconds: float) -> bool:
    """Whether a thread is taken for resting, and that only once it has done its work."""
    done, over = threading.Event(), threading.Event()

    def works() -> None:
        work()
        done.set()
        over.wait()

    thread = threading.Thread(target=works)
    thread.start()
    never = threading.Event()
    try:
        while not others_rest(seconds, never.wait):
            pass
        return done.is_set()
    finally:
        over.set()
        thread.join()
