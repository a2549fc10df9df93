"""Ctrl-C at any moment: what was recorded is whole, and the run says how it ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from recordings import check_run, payloads_of
from tachograph.schemas import EndOutcome, RunFinished
from tachograph.stores import Home, verify_home

PROGRAM = """
import asyncio, sys
from tachograph.producers import Recorder, tool

@tool(effect="write")
def effect(n):
    return n

@tool(effect="write")
async def effect_async(n):
    return n

def busy(run):
    print("on", flush=True)
    number = 0
    while True:
        with run.agent(f"a{number}") as agent:
            for step in range(20):
                agent.set_state("k", "x" * 500)
                agent.call(len, "abc")
                agent.send("b", step)
            agent.call(effect, number)
            agent.context()
        number += 1

async def busy_async(run):
    print("on", flush=True)
    number = 0
    while True:
        async with run.agent(f"a{number}") as agent:
            await asyncio.gather(*(agent.call(effect_async, step) for step in range(5)))
            await agent.call(asyncio.sleep, 0)
        number += 1

recorder = Recorder(sys.argv[1])
try:
    if sys.argv[2] == "sync":
        recorder.record(busy)
    else:
        asyncio.run(recorder.record(busy_async))
except KeyboardInterrupt:
    sys.exit(3)
"""

ROUNDS = 20 if os.environ.get("TACHO_NIGHTLY") == "1" else 3


@pytest.mark.parametrize("mode", ["sync", "async"])
@pytest.mark.parametrize("turn", range(ROUNDS))
def test_an_interrupted_recording_is_whole(tmp_path: Path, mode: str, turn: int) -> None:
    """No event is torn, doubled or missing, and the run's end is recorded as it was."""
    home = tmp_path / "home"
    process = subprocess.Popen([sys.executable, "-c", PROGRAM, str(home), mode], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "on\n"
    time.sleep(0.02 + 0.017 * turn)  # the moment is what is tested
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode == 3
    opened = Home.open(home)
    (run_id,) = opened.log.run_ids()
    events = check_run(payloads_of(opened, run_id))
    report = verify_home(opened, None, lambda done, total, what: None)
    assert [finding for finding in report.findings if finding.severity == "damage"] == []
    end = events[-1]
    assert isinstance(end, RunFinished)
    assert end.outcome in (EndOutcome.ERROR, EndOutcome.CANCELLED)
