"""Raw bodies when things go wrong: a process that is killed, a disk that fails, a child that is forked."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from faults.syscalls import failing_at, killed_at, swept, traced
from recordings import events_of
from tachograph.core.canonical import decode_body
from tachograph.schemas import CallStarted
from tachograph.stores import FindingKind, Home, verify_home
from tachograph.stores._verify_raw import redacted_of

SCRIPT = Path(__file__).parent / "raw_process.py"
EFFECTS = 2
RAW = {FindingKind.RAW_CHANGED, FindingKind.RAW_MISSING, FindingKind.RAW_UNCHECKED}


def sent(lines: tuple[str, ...]) -> list[str]:
    """The addresses of effects that have left."""
    return [line.removeprefix("sent ") for line in lines]


def addresses(home: Home) -> list[str]:
    """The raw arguments of every effect in the log; whatever is redacted there has its raw form."""
    found: list[str] = []
    for run_id in home.log.run_ids():
        sealed = home.raw.run(run_id)
        for event in events_of(home, run_id):
            meta = event.meta
            event_id = f"{run_id}/{meta.agent_id}#{meta.incarnation}.{meta.seq}"
            for name, body in redacted_of(event):
                value = decode_body(sealed.read(event_id, name, body, home.body(body, event_id)))
                if isinstance(event, CallStarted):
                    found.append(value["args"][0])  # type: ignore[index]
    return found


@pytest.mark.parametrize("call", ["write", "fdatasync"])
def test_a_killed_process_leaves_no_event_without_its_raw_body(tmp_path: Path, call: str) -> None:
    """Killed before each write and each sync: every effect that left can be read raw, and nothing raw is missing."""

    def one(number: int) -> bool:
        home = tmp_path / str(number)
        outcome = killed_at(SCRIPT, home, EFFECTS, call=call, number=number)
        if (home / "format.json").exists():
            opened = Home.open(home)
            assert set(sent(outcome.said)) <= set(addresses(opened))
            assert not {finding.kind for finding in verify_home(opened).findings} & RAW
        return outcome.returncode != 0

    assert swept(one) > 2


def test_raw_bodies_are_on_disk_before_their_events(tmp_path: Path) -> None:
    """Handed to the operating system before them, and synced before them, at every group commit."""
    outcome, calls = traced(SCRIPT, tmp_path / "home", 2, log=tmp_path / "calls")
    assert outcome.returncode == 0, outcome.errors
    steps = [
        f"{kind} {'pack' if '.pack' in line else 'segment'}"
        for line in calls
        for kind in [line.split("(")[0].replace("fdatasync", "sync").replace("fsync", "sync")]
        if kind in ("write", "sync") and (".pack" in line or ".seg" in line)
    ]
    steps.remove("write segment")  # a new segment's header, which holds no event
    steps.remove("sync segment")
    unsynced = False
    for step in steps:
        what, where = step.split()
        if where == "segment":
            assert what == "write" or not unsynced, steps
        else:
            unsynced = what == "write"
    assert steps.count("sync pack") >= 2
    assert (
        steps.index("write pack")
        < steps.index("write segment")
        < steps.index("sync pack")
        < steps.index("sync segment")
    )


def test_a_disk_that_fails_under_a_pack_stops_the_effects(tmp_path: Path) -> None:
    """As one that fails under the log: what has left was recorded, raw bodies and all."""

    def one(number: int) -> bool:
        home = tmp_path / str(number)
        outcome = failing_at(SCRIPT, home, EFFECTS, call="fsync", error="EIO", number=number, onwards=True)
        if (home / "format.json").exists() and (home / "raw").exists():
            opened = Home.open(home)
            assert set(sent(outcome.said)) <= set(addresses(opened))
        return outcome.returncode != 0

    assert swept(one) > 5


FORKING = """
import os, sys
from tachograph.producers import DirectoryTransport, Recorder

def child(agent):
    agent.set_state("mail", "child@example.org")

def control(run):
    with run.agent("a") as agent:
        agent.set_state("mail", "parent@example.org")
        recorder.flush()
        context = run.context().to_text()
        pid = os.fork()
        if pid == 0:
            recorder.join(context, "b", child)
            recorder.close()
            os._exit(0)
        assert os.waitpid(pid, 0)[1] == 0
        agent.set_state("mail", "again@example.org")

recorder = Recorder(sys.argv[1], raw=True, transport=DirectoryTransport(sys.argv[2]))
recorder.record(control)
recorder.close()
"""


def test_a_forked_child_writes_into_a_pack_of_its_own(tmp_path: Path) -> None:
    """Under the run's one key; nothing of the parent's is written twice or lost."""
    arguments = [sys.executable, "-W", "ignore", "-c", FORKING, str(tmp_path / "home"), str(tmp_path / "mail")]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    home = Home.open(tmp_path / "home")
    (run_id,) = home.log.run_ids()
    assert len(list(home.raw.directory_of(run_id).glob("*.pack"))) == 2
    report = verify_home(home)
    assert (report.findings, report.raw) == ((), 3)


CONVERSATION = """
import sys
from tachograph.producers import Recorder

def model(messages):
    return f"answer {len(messages)} " + "word " * 150

def control(run, turns):
    with run.agent("a") as agent:
        messages = [{"role": "user", "content": "I am bob@example.org"}]
        for turn in range(turns):
            messages.append({"role": "assistant", "content": agent.call(model, messages)})

with Recorder(sys.argv[1], raw=True) as recorder:
    recorder.record(control, int(sys.argv[2]))
"""


def test_raw_bodies_of_a_long_conversation_stay_small(tmp_path: Path) -> None:
    """One address near the beginning is taken out of every later call: that is a few bytes for each, and not the call."""
    sizes: list[int] = []
    for turns in (30, 60):
        home = tmp_path / str(turns)
        subprocess.run([sys.executable, "-c", CONVERSATION, str(home), str(turns)], check=True, capture_output=True)
        sizes.append(sum(path.stat().st_size for path in (home / "raw").rglob("*.pack")))
        assert verify_home(Home.open(home)).findings == ()
    assert sizes[1] < 2.1 * sizes[0]
    assert sizes[1] < 60 * 200
