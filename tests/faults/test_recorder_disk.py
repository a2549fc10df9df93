"""A log that cannot be written: effects are refused before they run, nothing that happened is hidden, old data is intact.

The disk is full for real: the process may not let a file grow beyond a limit (RLIMIT_FSIZE).
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from recordings import check_run, payloads_of
from tachograph.core.errors import StoreUnavailable
from tachograph.producers import DirectoryTransport, Recorder
from tachograph.stores import Home

PROGRAM = """
import asyncio, json, logging, resource, signal, sys, threading
from pathlib import Path
from tachograph.core.errors import SpoolUnwritable
from tachograph.producers import Recorder, tool

home, mode, policy = sys.argv[1:]
calls = []

@tool(effect="write", idempotency_key=lambda n: str(n))
def effect(n):
    calls.append(n)
    return n

@tool(effect="write", idempotency_key=lambda n: str(n))
async def effect_async(n):
    calls.append(n)
    return n

seen = {"events": [], "calls": calls}

def attempt(what, function):
    try:
        seen["events"].append([what, function()])
    except SpoolUnwritable as error:
        seen["events"].append([what, f"{type(error).__name__}: {error}"])

def fill(agent):
    resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, resource.RLIM_INFINITY))
    for number in range(200):
        agent.set_state("k", "x" * 1000)

def control(run):
    with run.agent("a") as agent, run.agent("beside") as beside:
        attempt("first", lambda: agent.call(effect, 1))
        def late():
            other = threading.Thread(target=lambda: attempt("fill", lambda: fill(beside)))
            other.start()
            other.join()
            attempt("flush", recorder.flush)
            return "the result"
        attempt("result", lambda: agent.call(late))
        attempt("effect", lambda: agent.call(effect, 2))
        attempt("call", lambda: agent.call(len, "abc"))
        attempt("send", lambda: agent.send("b", 1))

async def control_async(run):
    async with run.agent("a") as agent:
        await agent.call(effect_async, 1)
        attempt("fill", lambda: fill(agent))
        attempt("flush", recorder.flush)
        try:
            await agent.call(effect_async, 2)
        except SpoolUnwritable as error:
            seen["events"].append(["effect", f"SpoolUnwritable: {error}"])

logging.disable(logging.CRITICAL)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
recorder = Recorder(home, on_broken_log=policy)
if mode == "sync":
    attempt("record", lambda: recorder.record(control))
else:
    attempt("record", lambda: asyncio.run(recorder.record(control_async)))
seen["dropped"] = recorder.statistics().dropped
seen["latest"] = recorder.statistics().latest_error
seen["run_id"] = recorder.latest_run_id
print(json.dumps(seen))
"""


def run(home: Path, mode: str, policy: str) -> tuple[dict[str, str], dict[str, object]]:
    """What the program saw, step by step, and its counters."""
    command = [sys.executable, "-c", PROGRAM, str(home), mode, policy]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    return {str(what): str(answer) for what, answer in seen["events"]}, seen


@pytest.mark.parametrize("mode", ["sync", "async"])
@pytest.mark.parametrize("policy", ["fail", "continue"])
def test_a_full_disk_stops_effects_and_keeps_what_was_recorded(tmp_path: Path, mode: str, policy: str) -> None:
    """The effect before is recorded, the one after never runs, and the error names file, reason and remedy."""
    answers, seen = run(tmp_path / "home", mode, policy)
    assert seen["calls"] == [1]
    assert "File too large" in answers["effect"]
    assert "No effect is executed until it can be written again" in answers["effect"]
    assert isinstance(seen["dropped"], int)
    assert seen["dropped"] > 0
    assert "File too large" in str(seen["latest"])
    home = Home.open(tmp_path / "home")
    events = check_run(payloads_of(home, str(seen["run_id"])))
    assert len(events) > 10
    assert [effect.state.value for effect in home.catalogue.effects()] in (["CONFIRMED"], ["UNKNOWN"])


def test_by_default_a_broken_log_stops_every_later_call(tmp_path: Path) -> None:
    """The recording must not silently go on without being one; a result that was there already gets through."""
    answers, _ = run(tmp_path / "home", "sync", "fail")
    assert answers["first"] == "1"
    assert answers["result"] == "the result"
    for what in ("call", "send", "record"):
        assert answers[what].startswith("SpoolUnwritable"), what


def test_a_broken_log_can_be_gone_on_without(tmp_path: Path) -> None:
    """With `continue` only effects are refused; what is not recorded is counted."""
    answers, _ = run(tmp_path / "home", "sync", "continue")
    assert (answers["call"], answers["send"], answers["record"]) == ("3", "None", "None")
    assert answers["effect"].startswith("SpoolUnwritable")


def test_a_home_that_cannot_be_made_says_so(tmp_path: Path) -> None:
    """A path through a file, or a directory with other things in it, is refused when the recorder is made."""
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreUnavailable, match="Not a directory"):
        Recorder(tmp_path / "file" / "home")


def test_a_message_that_cannot_be_sent_is_raised_to_its_sender(tmp_path: Path) -> None:
    """The MessageSent stands in the log, the sender knows that it went nowhere."""
    (tmp_path / "mail").write_text("a file, where a directory must be")
    with Recorder(tmp_path / "home", transport=DirectoryTransport(tmp_path / "mail")) as recorder:
        with recorder.run("r") as opened, opened.agent("a") as agent, pytest.raises(StoreUnavailable):
            agent.send("b", 1)
        check_run(payloads_of(recorder.home, opened.id))
