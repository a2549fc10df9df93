"""Where evidence or code is missing a replay claims nothing beyond it: LIMITED, with what is missing and what to do."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from recordings import check_run, payloads_of
from replays import Replays, diverged, imported, limited, reproduced
from segments import HEADER_BYTES, frames_of, joined, segments_of
from tachograph.core.boundary import Run
from tachograph.core.errors import UnknownRun
from tachograph.core.ports import ReplayOptions
from tachograph.core.replay import DivergenceKind
from tachograph.producers import Recorder
from tachograph.replay_workers import replay
from tachograph.replay_workers._process import ReplayProcess
from tachograph.schemas import CallFinished, CallStarted, Fidelity, decode

DESK = """
def desk(run):
    with run.agent("clerk") as agent:
        agent.call(work, "one")
        agent.call(work, "two")
        agent.set_state("done", True)
"""


@pytest.fixture(scope="module")
def process() -> Iterator[ReplayProcess]:
    """One replaying process for all tests: it forks a child per replay."""
    with ReplayProcess() as started:
        yield started


@pytest.fixture
def replays(tmp_path: Path, process: ReplayProcess) -> Replays:
    """A home of its own."""
    return Replays(tmp_path, process)


def test_an_unknown_run_is_refused_by_name(replays: Replays) -> None:
    """Before anything is replayed."""
    run_id = replays.record(DESK)
    with pytest.raises(UnknownRun, match="run-nobody"):
        replay(replays.path / "home", [run_id, "run-nobody"], ReplayOptions(), 1, lambda *_: None)


def test_what_a_source_does_not_carry_is_not_derivable(replays: Replays) -> None:
    """A recording without prompts proves its control flow, not what was asked; the list says what is missing."""
    source = """
from tachograph.schemas import Fidelity

def desk(run):
    run.imported("spans", Fidelity.SPANS_ONLY, ["the prompts", "the tools' arguments"])
    with run.agent("clerk") as agent:
        agent.model(work, value=None)
"""
    verdict = limited(replays.replay(replays.record(source)))
    assert (verdict.control_flow, verdict.state, verdict.content) == ("reproduced", "not_proved", "not_proved")
    assert verdict.fidelity == Fidelity.SPANS_ONLY
    assert any("the prompts" in sentence for sentence in verdict.missing)
    assert any("the tools' arguments" in sentence for sentence in verdict.missing)


def test_a_result_that_was_not_recorded_is_not_guessed(replays: Replays) -> None:
    """Control logic is stopped where it would have to be given something made up."""
    source = """
class Handle:
    pass

def opens():
    return Handle()

def desk(run):
    with run.agent("clerk") as agent:
        agent.call(work, 1)
        agent.call(opens)
        agent.call(work, 2)
"""
    verdict = limited(replays.replay(replays.record(source)))
    assert any("opens" in sentence and "Handle" in sentence for sentence in verdict.missing)
    assert verdict.steps_replayed < verdict.steps_recorded
    assert verdict.control_flow == "not_proved"


def test_a_missing_body_is_named(replays: Replays) -> None:
    """The unit that needs it is not driven at all."""
    run_id = replays.record(
        'def desk(run):\n    with run.agent("a") as agent:\n        agent.call(work, "x" * 100_000)\n'
    )
    for path in (replays.path / "home" / "objects").rglob("*"):
        if path.is_file():
            path.unlink()
    verdict = limited(replays.replay(run_id))
    assert any("is not in the object store" in sentence for sentence in verdict.missing)
    assert verdict.steps_replayed == 0


def _rewritten(replays: Replays, change: object) -> None:
    """Write the only segment anew with changed payloads."""
    assert callable(change)
    (segment,) = segments_of(replays.home)
    data = segment.read_bytes()
    segment.write_bytes(
        joined(data[:HEADER_BYTES], [new for frame in frames_of(data) if (new := change(frame.payload))])
    )


def test_an_unsupported_schema_version_is_named(replays: Replays) -> None:
    """An event of a newer release is not read as something else."""
    run_id = replays.record(DESK)
    states = [payload for payload in payloads_of(replays.home, run_id) if b"done" in payload]
    newer = states[0][:1] + bytes((0, 0, 200, 200)) + states[0][5:]
    _rewritten(replays, lambda payload: newer if payload == states[0] else payload)
    verdict = limited(replays.replay(run_id))
    assert any("51400" in sentence for sentence in verdict.missing), verdict.missing
    assert verdict.control_flow == "not_proved"


def test_an_unknown_event_that_may_be_skipped_is_skipped(replays: Replays) -> None:
    """What stands behind it in its stream is still compared; that something was skipped is said."""
    run_id = replays.record(DESK)
    (state,) = [payload for payload in payloads_of(replays.home, run_id) if b"done" in payload]
    newer = state[:1] + (1 << 16).to_bytes(4, "big") + state[5:]
    _rewritten(replays, lambda payload: newer if payload == state else payload)
    source = DESK.replace('        agent.set_state("done", True)\n', "")
    verdict = limited(replays.replay(run_id, source))
    assert (verdict.steps_replayed, verdict.steps_recorded, verdict.control_flow) == (5, 5, "reproduced")


@pytest.mark.parametrize(
    ("old", "new"),
    [(b'"two"', b'"owt"'), (b"\x08work", b"\x08wirk"), (b"\x08done", b"\x08dome"), (b"desk:desk", b"desk:disk")],
)
def test_a_changed_event_is_no_divergence(replays: Replays, old: bytes, new: bytes) -> None:
    """An event whose hash does not fit is no evidence: neither that control logic did the same, nor that it did not."""
    run_id = replays.record(DESK)
    _rewritten(replays, lambda payload: payload.replace(old, new))
    verdict = limited(replays.replay(run_id))
    assert any("its hash does not fit" in sentence for sentence in verdict.missing), verdict.missing
    assert verdict.control_flow == "not_proved"


@pytest.mark.parametrize("number", range(9))
def test_an_event_that_is_gone_is_no_divergence(replays: Replays, number: int) -> None:
    """Whichever of a run's events it is."""
    run_id = replays.record(DESK)
    gone = payloads_of(replays.home, run_id)[number]
    _rewritten(replays, lambda payload: b"" if payload == gone else payload)
    assert limited(replays.replay(run_id)).missing


def test_a_corrupt_frame_is_named(replays: Replays) -> None:
    """A flipped byte ends the proof where it lies."""
    run_id = replays.record(DESK)
    (segment,) = segments_of(replays.home)
    data = bytearray(segment.read_bytes())
    place = data.index(b'"two"')
    data[place + 1] ^= 1
    segment.write_bytes(data)
    result = replays.result(run_id)
    verdict = limited(result.verdict)
    assert any(segment.name in sentence for sentence in verdict.missing), verdict.missing


def test_a_torn_tail_is_a_recording_that_breaks_off(replays: Replays) -> None:
    """What is there is replayed; the rest is missing, not changed."""
    run_id = replays.record(DESK)
    (segment,) = segments_of(replays.home)
    data = segment.read_bytes()
    finished = [frame for frame in frames_of(data)[:-1] if isinstance(decode(frame.payload), CallFinished)]
    segment.write_bytes(data[: finished[-1].offset])
    verdict = limited(replays.replay(run_id))
    assert any("breaks off" in sentence for sentence in verdict.missing)
    assert verdict.divergences == ()


def test_an_entry_point_that_is_gone_is_named(replays: Replays) -> None:
    """With the module, and how to say where it is now."""
    run_id = replays.record(DESK)
    shutil.rmtree(replays.path / "code1")
    verdict = limited(replays.replay(run_id))
    assert any("desk:desk" in sentence and "--code" in sentence for sentence in verdict.missing), verdict.missing


@pytest.mark.parametrize(
    ("source", "what"),
    [
        ("import no_such_module_at_all\n", "no_such_module_at_all"),
        ("def other(run):\n    pass\n", "no function 'desk'"),
        ("desk = 3\n", "no function 'desk'"),
        ("def desk(run:\n", "SyntaxError"),
        ("import os\nos.remove('x')\n\ndef desk(run):\n    pass\n", "refused"),
        ("raise SystemExit(3)\n", "SystemExit"),
        ("raise KeyboardInterrupt\n", "KeyboardInterrupt"),
    ],
)
def test_an_entry_point_that_cannot_be_imported_says_why(replays: Replays, source: str, what: str) -> None:
    """Whatever importing it raises."""
    run_id = replays.record(DESK)
    verdict = limited(replays.replay(run_id, source))
    assert any(what in sentence for sentence in verdict.missing), verdict.missing
    assert verdict.control_flow == "not_proved"


def test_moved_code_is_found_with_code(replays: Replays) -> None:
    """The directory that is given stands first; the digests of both codes are in the verdict."""
    run_id = replays.record(DESK)
    (replays.path / "code1").rename(replays.path / "moved")
    verdict = reproduced(replays.replay(run_id, code=str(replays.path / "moved")))
    assert verdict.recorded_code == verdict.replayed_code is not None
    other = reproduced(replays.replay(run_id, DESK + "\n# a comment\n"))
    assert other.recorded_code == verdict.recorded_code != other.replayed_code


def test_code_may_be_given_as_a_relative_path(replays: Replays, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seen from where the replay was asked for."""
    run_id = replays.record(DESK)
    (replays.path / "code1").rename(replays.path / "moved")
    monkeypatch.chdir(replays.path)
    with ReplayProcess() as here:
        reproduced(Replays(replays.path, here).replay(run_id, code="moved"))


def test_control_logic_in_a_lambda_cannot_be_re_driven(replays: Replays) -> None:
    """It is recorded all the same, and the verdict says what to do."""

    def inner(run: Run) -> None:
        with run.agent("clerk") as agent:
            agent.call(str, 1)

    run_id = replays.record(inner)
    verdict = limited(replays.replay(run_id))
    assert any("no importable entry point" in sentence for sentence in verdict.missing)
    assert verdict.fidelity == Fidelity.TOOLS_ONLY


def test_an_agent_that_takes_too_many_steps_is_stopped(replays: Replays) -> None:
    """A guard against control logic that never ends but goes on calling."""
    run_id = replays.record(DESK)
    verdict = limited(replays.replay(run_id, steps_max=1))
    assert (verdict.control_flow, verdict.state, verdict.content) == ("not_proved",) * 3
    assert any("was stopped after 1 steps" in sentence for sentence in verdict.missing)
    endless = DESK.replace('agent.call(work, "one")', 'while True:\n            agent.call(work, "one")')
    assert diverged(replays.replay(run_id, endless)).step == 2


@pytest.mark.parametrize(
    "loop",
    [
        "while True:\n            pass",
        "import time\n        time.sleep(1e9)\n        while time.time():\n            pass",
    ],
)
def test_control_logic_that_loops_without_the_boundary_is_killed(tmp_path: Path, loop: str) -> None:
    """At the wall limit, with all it started; the next replay goes on in a new process."""
    with ReplayProcess() as process:
        replays = Replays(tmp_path, process)
        run_id = replays.record(DESK)
        stuck = DESK.replace('agent.call(work, "two")', loop)
        verdict = limited(replays.replay(run_id, stuck, seconds_max=0.7))
        assert any("longer than 0.7 seconds" in sentence for sentence in verdict.missing)
        assert verdict.steps_replayed == 0
        reproduced(replays.replay(run_id))


@pytest.mark.parametrize(
    ("end", "what"),
    [("os._exit(3)", "exit code 3"), ("os.abort()", "SIGABRT"), ("os._exit(0)", "exit code 0")],
)
def test_control_logic_that_ends_its_process_is_named(tmp_path: Path, end: str, what: str) -> None:
    """It cannot take the replayer with it."""
    with ReplayProcess() as process:
        replays = Replays(tmp_path, process)
        run_id = replays.record(DESK)
        verdict = limited(replays.replay(run_id, DESK.replace('agent.call(work, "two")', f"import os; {end}")))
        assert any(what in sentence for sentence in verdict.missing), verdict.missing
        reproduced(replays.replay(run_id))


def test_a_recording_that_a_crash_left_is_replayed_to_where_it_breaks_off(replays: Replays) -> None:
    """The steps that are there are proved to be as recorded; the end is missing."""
    run_id = replays.record(DESK)
    (segment,) = segments_of(replays.home)
    data = segment.read_bytes()
    started = [frame for frame in frames_of(data)[:-1] if isinstance(decode(frame.payload), CallStarted)]
    segment.write_bytes(data[: started[-1].offset])
    verdict = limited(replays.replay(run_id))
    assert verdict.divergences == ()
    assert verdict.missing
    changed = replays.replay(run_id, DESK.replace('"one"', '"uno"'))
    assert diverged(changed).kind is DivergenceKind.ARGUMENT_CHANGED


def test_events_stay_what_they_were_after_all_this(replays: Replays) -> None:
    """A replay repairs nothing behind one's back."""
    run_id = replays.record(DESK)
    before = payloads_of(replays.home, run_id)
    limited(replays.replay(run_id, "import nothing_of_that_name\n"))
    assert payloads_of(replays.home, run_id) == before
    check_run(before)


def test_a_module_that_is_found_elsewhere_is_not_taken_for_the_recorded_one(replays: Replays) -> None:
    """A name that the standard library has as well is looked for in the recorded directory first."""
    directory = replays.code("")
    (directory / "statistics.py").write_text(
        "def desk(run):\n    with run.agent('a') as agent:\n        agent.call(str, 1)\n"
    )
    with imported(directory), Recorder(replays.path / "home") as recorder:
        with recorder.run("r", entrypoint="statistics:desk") as run, run.agent("a") as agent:
            agent.call(str, 1)
        run_id = recorder.latest_run_id
    assert run_id is not None
    reproduced(replays.replay(run_id, code=str(directory)))
