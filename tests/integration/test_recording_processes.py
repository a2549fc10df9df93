"""One run over several processes: joining, messages through a directory, restarts, forks and exits."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from recorded_fleet import worker
from recordings import check_run, kinds, named, payloads_of
from tachograph.core.boundary import Run, SyncAgent
from tachograph.core.canonical import decode_body
from tachograph.core.errors import AgentMisuse
from tachograph.producers import DirectoryTransport, Recorder
from tachograph.schemas import AgentStarted, MessageReceived, RunStarted
from tachograph.stores import Home

FLEET = Path(__file__).parent.parent / "recorded_fleet.py"


def start(role: str, home: Path, *arguments: str) -> subprocess.Popen[str]:
    """A process of the fleet."""
    command = [sys.executable, str(FLEET), role, str(home), *arguments]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def line_of(process: subprocess.Popen[str]) -> str:
    """The next line that a process prints."""
    assert process.stdout is not None
    return process.stdout.readline().strip()


def ended(process: subprocess.Popen[str], code: int = 0) -> str:
    """What a process printed to its end."""
    output, _ = process.communicate(timeout=30)
    assert process.returncode == code
    return output.strip()


def test_two_processes_record_one_run(tmp_path: Path) -> None:
    """A process joins with a context, both write their own spools, and every message links their streams."""
    home = tmp_path / "home"
    asking = start("asker", home, "3")
    context = line_of(asking)
    working = start("worker", home, context, "3")
    assert ended(asking) == str([{"square": 0}, {"square": 1}, {"square": 4}])
    assert ended(working) == "3"
    opened = Home.open(home)
    (run_id,) = opened.log.run_ids()
    events = check_run(payloads_of(opened, run_id))
    assert kinds(events, "worker") == [
        "AgentStarted", *["CallStarted", "MessageReceived", "MessageSent"] * 3, "AgentFinished",
    ]  # fmt: skip
    joined = named(events, "AgentStarted", "worker")[0]
    assert isinstance(joined, AgentStarted)
    assert joined.entrypoint == "recorded_fleet:worker"
    assert joined.arguments is not None
    assert decode_body(opened.body(joined.arguments, "")) == {"args": [3], "kwargs": {}}
    assert joined.inputs is not None
    inputs = decode_body(opened.body(joined.inputs, ""))
    assert isinstance(inputs, dict)
    assert inputs["code_path"] == str(FLEET.parent)
    assert [cause.agent_id for cause in joined.meta.causes] == ["asker"]
    received = [event for event in events if isinstance(event, MessageReceived)]
    assert len(received) == 6
    assert all(len(event.meta.causes) == 1 for event in received)
    started = named(events, "RunStarted")[0]
    assert isinstance(started, RunStarted)
    assert started.entrypoint == "recorded_fleet:asker"
    assert list((home / "mail").rglob("*/taken/*")) == []


def test_a_message_taken_and_not_recorded_is_offered_to_the_next_life(tmp_path: Path) -> None:
    """A process dies between taking a message and recording it: its successor gets it. What was recorded it does not."""
    home = tmp_path / "home"
    mail = DirectoryTransport(home / "mail")
    with Recorder(home, transport=mail) as recorder, recorder.run("r") as run, run.agent("boss") as boss:
        context = boss.context()
        boss.send("worker", {"n": 1})
        boss.send("worker", {"n": 2})
        boss.send("worker", {"n": 3})
        first = start("sleeper", home, context.to_text())
        assert line_of(first) == "got"
        mail.collect(run.id, "worker")  # as a process does in the moment before it dies
        first.kill()
        first.communicate()
        got: list[object] = []

        def successor(agent: SyncAgent) -> None:
            got.extend([agent.receive(), agent.receive()])

        recorder.join(context, "worker", successor)
    lives = [event.meta.incarnation for event in named(check_run(payloads_of(home, run.id)), "AgentStarted", "worker")]
    assert lives == [1, 2]
    assert got == [{"n": 2}, {"n": 3}]


def test_a_process_that_just_ends_loses_nothing(tmp_path: Path) -> None:
    """Without `close`, at the interpreter's exit, everything is written and the log is sealed."""
    program = f"""
import sys
sys.path.insert(0, {str(FLEET.parent)!r})
from tachograph.producers import Recorder
recorder = Recorder({str(tmp_path / "home")!r})
agent = recorder.run("left open").__enter__().agent("a").__enter__()
for number in range(500):
    agent.set_state("k", number)
print(recorder.latest_run_id)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    events = check_run(payloads_of(tmp_path / "home", done.stdout.strip()))
    assert len(named(events, "StateChanged")) == 500
    assert done.stderr == ""
    opened = Home.open(tmp_path / "home")
    assert [spool.state.name for spool in opened.log.spools()] == ["CLOSED"]


def test_a_killed_process_loses_only_what_was_not_acknowledged(tmp_path: Path) -> None:
    """What is older than the fsync interval is there; the streams end without a gap."""
    process = start("writes", tmp_path / "home", str(tmp_path / "lines"), "1000000")
    seen = [line_of(process) for _ in range(20)]
    process.kill()
    process.communicate()
    run_id = seen[0].split()[0]
    events = check_run(payloads_of(tmp_path / "home", run_id))
    assert len(named(events, "EffectTransitioned")) >= 2 * 20 - 1


def test_a_forked_child_cannot_use_its_parents_agents(tmp_path: Path) -> None:
    """It is told to join instead, and what it records has a spool of its own; the parent goes on undisturbed."""
    home = tmp_path / "home"
    with (
        Recorder(home, transport=DirectoryTransport(tmp_path / "mail")) as recorder,
        recorder.run("r") as run,
        run.agent("a") as agent,
    ):
        agent.set_state("before", 1)
        context = agent.context()
        child = os.fork()
        if child == 0:
            os._exit(_in_child(recorder, agent, context.to_text()))
        agent.set_state("after", 2)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    events = check_run(payloads_of(home, run.id))
    assert kinds(events, "a") == ["AgentStarted", "StateChanged", "StateChanged", "AgentFinished"]
    assert kinds(events, "kid") == ["AgentStarted", "StateChanged", "AgentFinished"]
    assert len(Home.open(home).log.spools()) == 2


def _in_child(recorder: Recorder, agent: SyncAgent, context: str) -> int:
    with pytest.raises(AgentMisuse, match="recorder.join"):
        agent.set_state("in the child", 1)
    if recorder.statistics().events != 0:
        return 2
    recorder.join(context, "kid", _kid)
    return 0


def _kid(agent: SyncAgent) -> None:
    agent.set_state("here", 1)


def test_forks_while_other_threads_record_do_not_hang(tmp_path: Path) -> None:
    """Whatever lock a thread held at the fork, the child's recorder starts with its own."""
    with Recorder(tmp_path / "home") as recorder:
        stop = threading.Event()

        def busy(run: Run) -> None:
            with run.agent("a") as agent:
                while not stop.is_set():
                    agent.set_state("k", "x" * 100)

        threads = [threading.Thread(target=recorder.record, args=(busy,)) for _ in range(2)]
        for thread in threads:
            thread.start()
        codes = []
        for _ in range(20):
            child = os.fork()
            if child == 0:
                os._exit(_record_in_child(recorder))
            codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        stop.set()
        for thread in threads:
            thread.join()
        assert codes == [0] * 20
        for run_id in recorder.home.log.run_ids():
            check_run(payloads_of(recorder.home, run_id))


def _record_in_child(recorder: Recorder) -> int:
    with recorder.run("child") as run, run.agent("b") as agent:
        agent.set_state("k", 1)
    return 0


def test_processes_of_multiprocessing_record_too(tmp_path: Path) -> None:
    """`multiprocessing` ends its children without their exit handlers: the end of a join is durable before that."""
    home = tmp_path / "home"
    with (
        Recorder(home, transport=DirectoryTransport(tmp_path / "mail")) as recorder,
        recorder.run("r") as run,
        run.agent("boss") as boss,
    ):
        context = boss.context().to_text()
        process = multiprocessing.get_context("fork").Process(target=recorder.join, args=(context, "kid", _kid))
        process.start()
        process.join()
        assert process.exitcode == 0
    assert kinds(check_run(payloads_of(home, run.id)), "kid") == ["AgentStarted", "StateChanged", "AgentFinished"]


def test_the_worker_is_an_entry_point_that_can_be_found_again() -> None:
    """The processes above are started from a file: as an entry point it has the file's name, not `__main__`."""
    assert worker.__module__ == "recorded_fleet"
