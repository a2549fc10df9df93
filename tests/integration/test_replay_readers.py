"""Several jobs: processes that read and check runs, what comes of them, and what is left when one of them or all must end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from replays import Replays, diverged, limited, reproduced
from tachograph.replay_workers._process import ReplayProcess

_TESTS = Path(__file__).parent.parent


def _program(source: str, *arguments: str) -> subprocess.Popen[str]:
    """A program with a single thread, which the runner of tests need not have."""
    return subprocess.Popen(
        [sys.executable, "-c", source, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=_TESTS,
    )


def _said(source: str, *arguments: str) -> list[str]:
    with _program(source, *arguments) as program:
        out, error = program.communicate(timeout=60)
        assert program.returncode == 0, error
    return out.splitlines()


REPLAYED = """
import dataclasses, os, sys
from pathlib import Path
from tachograph.core.ports import ReplayOptions
from tachograph.replay_workers import replay
from tachograph.replay_workers._readers import may_fork

if __name__ == "__main__":
    apart = may_fork()  # asked before: of a thread that was joined the system knows a little longer
    assert apart or sys.platform != "linux"
    expected, forks = 2 if apart else 0, []
    os.register_at_fork(after_in_parent=lambda: forks.append(1))
    home, code, *run_ids = sys.argv[1:]
    told = []
    options = ReplayOptions(code=code)
    apart, here = (
        replay(Path(home), run_ids, options, jobs, lambda done, count, run_id: told.append((done, count, run_id)))
        for jobs in (2, 1)
    )
    assert len(forks) == expected
    assert [dataclasses.replace(one, seconds=0) for one in apart] == [dataclasses.replace(one, seconds=0) for one in here]
    assert [one[:2] for one in told] == [(1, 3), (2, 3), (3, 3)] * 2
    assert sorted(one[2] for one in told[:3]) == sorted(run_ids)
    for one in apart:
        print(one.run_id, one.verdict.status.value)
"""


def test_several_jobs_find_what_one_does(tmp_path: Path) -> None:
    """The same results, in the order that was asked for, and progress told once for each run."""
    source = 'def desk(run, value=1):\n    with run.agent("clerk") as agent:\n        agent.call(work, value)\n'
    with ReplayProcess() as process:
        replays = Replays(tmp_path, process)
        run_ids = [replays.record(source.replace("value=1", f"value={value}")) for value in (1, 2, 1)]
        code = str(replays.code(source))
    said = _said(REPLAYED, str(tmp_path / "home"), code, *run_ids)
    assert said == [f"{run_ids[0]} reproduced", f"{run_ids[1]} diverged", f"{run_ids[2]} reproduced"]


READERS = """
import os, sys
from tachograph.core.errors import InternalError
from tachograph.replay_workers._readers import Readers

def serve(answer_all):
    answer_all(work)

def work(run_id):
    os.write(1, f"{os.getpid()}\\n".encode())
    WORK

if __name__ == "__main__":
    try:
        with Readers(2, serve) as readers:
            BODY
    except (InternalError, KeyError) as error:
        print(type(error).__name__, error)
    try:
        os.waitpid(-1, 0)
    except ChildProcessError:
        print("nobody is left")
"""


def _reading(work: str, body: str) -> str:
    return READERS.replace("WORK", work).replace("BODY", body)


@pytest.mark.parametrize(
    ("work", "why"),
    [
        ("os._exit(3)", "a process that reads runs to replay them died"),
        ("raise ValueError(run_id)", "a process that reads runs to replay them failed: ValueError: run-1"),
    ],
)
def test_a_reader_that_fails_is_named(work: str, why: str) -> None:
    """And the others are ended."""
    said = _said(_reading(work, 'list(readers.results(["run-1"]))'))
    assert [line for line in said if not line.isdigit()] == [f"InternalError {why}", "nobody is left"]


def test_whoever_asks_may_break_off() -> None:
    """Readers that are in the middle of a run are ended, not waited for."""
    # The first run comes to its end, the second one never would.
    work = "from tachograph.core.ports import ReplayResult; "
    work += 'return ReplayResult(run_id, "", None, 0) if run_id == "run-1" else os.read(os.pipe()[0], 1)'
    said = _said(_reading(work, "for _ in readers.results(['run-1', 'run-2']): raise KeyError('enough')"))
    assert said[-2:] == ["KeyError 'enough'", "nobody is left"]


def test_readers_end_with_their_parent() -> None:
    """However it ended: the last one that holds its output lets go."""
    source = _reading("os.read(os.pipe()[0], 1)", 'list(readers.results(["run-1", "run-2"]))')
    with _program(source) as program:
        assert program.stdout is not None
        readers = {int(program.stdout.readline()) for _ in range(2)}
        assert len(readers) == 2
        os.kill(program.pid, signal.SIGKILL)
        assert program.stdout.read() == ""


MANY = """
def desk(run):
    with run.agent("clerk") as agent:
        for number in range(400):
            agent.call(work, [number, "x" * 20_000])
"""


def test_a_child_that_dies_while_much_is_unsent_is_told_of(tmp_path: Path) -> None:
    """What was on its way to it does not come before what the next one is sent."""
    with ReplayProcess() as process:
        replays = Replays(tmp_path, process)
        run_id = replays.record(MANY)
        for ending, told in (("_exit(3)", "exit code 3"), ("abort()", "signal SIGABRT")):
            died = MANY.replace("agent.call", f"__import__('os').{ending}; agent.call")
            assert told in str(limited(replays.replay(run_id, died)).missing)
            reproduced(replays.replay(run_id))
        changed = diverged(replays.replay(run_id, MANY.replace('"x"', '"y"')))
        assert changed.step == 1
        reproduced(replays.replay(run_id))
