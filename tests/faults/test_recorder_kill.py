"""kill -9 of a recording process at its writes, syncs and renames: nothing acknowledged is lost, no effect comes first.

The process writes lines into a file, each by an effect, and prints a line when control logic has the effect's result.
strace kills it at the n-th call of one kind; what is left behind is then compared with what it had printed and done.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

import pytest

from recorded_fleet import write_line
from recordings import check_run, payloads_of
from tachograph.core.boundary import Run
from tachograph.core.errors import EffectRefused, ReconciliationRequired
from tachograph.producers import Recorder
from tachograph.schemas import CallFinished, EffectState, EffectTransitioned
from tachograph.stores import Home

FLEET = Path(__file__).parent.parent / "recorded_fleet.py"
EFFECTS = 3

CALLS = ("write", "fdatasync", "fsync", "rename", "mkdir", "link")
"""The system calls by which a recording reaches the disk."""

SWEEPS = [*(("writes", call) for call in CALLS), ("writes_async", "write"), ("writes_async", "fdatasync")]


@pytest.mark.parametrize(("role", "call"), SWEEPS)
def test_a_recording_killed_at_any_system_call_is_whole(tmp_path: Path, role: str, call: str) -> None:
    """Whatever point the process dies at, the home tells the truth about every effect."""
    for point in range(1, _counts(role)[call] + 1):
        home = tmp_path / f"{call}-{point}"
        acknowledged = _run(role, home, f"inject={call}:signal=KILL:when={point}")
        _check(home, acknowledged)


def _check(home: Path, acknowledged: list[str]) -> None:
    done = (home / "lines").read_text().splitlines() if (home / "lines").exists() else []
    assert done[: len(acknowledged)] == acknowledged, "control logic was told of an effect that is not there"
    if not (home / "log" / "format.json").exists():
        assert done == []
        return
    opened = Home.open(home / "log")
    effects = {row.idempotency_key: row for row in opened.catalogue.effects()}
    for line in done:
        assert line in effects, f"an effect ran before its record: {line}"
    for run_id in opened.log.run_ids():
        events = check_run(payloads_of(opened, run_id))
        moved = {event.effect_id for event in events if isinstance(event, EffectTransitioned)}
        assert moved == {row.effect_id for row in effects.values()}
        ended = sum(isinstance(event, CallFinished) for event in events)
        assert ended <= 2 * len(done) + 1
    for row in effects.values():
        assert row.state in (EffectState.CONFIRMED, EffectState.UNKNOWN)
        if row.state is EffectState.UNKNOWN:
            _check_refused(home, row.idempotency_key or "")


def _check_refused(home: Path, line: str) -> None:
    """After the restart the effect of which nobody knows is not tried again."""

    def retries(run: Run) -> None:
        with run.agent("writer") as agent:
            agent.call(write_line, str(home / "lines"), line)

    before = (home / "lines").read_bytes() if (home / "lines").exists() else b""
    with Recorder(home / "log") as recorder, pytest.raises(EffectRefused) as refused:
        recorder.record(retries)
    assert isinstance(refused.value, ReconciliationRequired)
    assert before == ((home / "lines").read_bytes() if (home / "lines").exists() else b"")


def _run(role: str, home: Path, inject: str | None = None) -> list[str]:
    """Run the process under strace; returns the lines it printed."""
    home.mkdir()
    strace = shutil.which("strace")
    if strace is None:
        pytest.fail("strace is missing: install it with `apt-get install strace`")
    options = ["-e", inject] if inject else []
    traced = inject.split("=")[1].split(":")[0] if inject else ",".join(CALLS)
    command = [strace, "-f", "-qq", "-e", f"trace={traced}", *options, "-o", str(home / "trace")]
    program = [sys.executable, str(FLEET), role, str(home / "log"), str(home / "lines"), str(EFFECTS)]
    done = subprocess.run([*command, *program], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode in ((-9, 0) if inject else (0,)), done.stderr  # 0: no thread of it came to the n-th call
    return done.stdout.splitlines()


@cache
def _counts(role: str) -> dict[str, int]:
    """How often an undisturbed process makes each call."""
    with tempfile.TemporaryDirectory() as directory:
        home = Path(directory) / "home"
        assert len(_run(role, home)) == EFFECTS
        trace = (home / "trace").read_text()
    return {call: sum(f" {call}(" in line for line in trace.splitlines()) for call in CALLS}
