"""Whatever control logic reads past the boundary is found, named with its line, and weighed by its consequences."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import guarded_fleet
from replays import Replays, asked, diverged, limited, line_at, reproduced
from tachograph.core.replay import DivergenceKind, Verdict
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


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A file that is there."""
    file = tmp_path_factory.mktemp("read") / "note.json"
    file.write_text("1")
    return str(file)


@pytest.fixture(scope="module")
def silent(tmp_path_factory: pytest.TempPathFactory, process: ReplayProcess, path: str) -> Verdict:
    """The verdict on a run that makes every read and nothing of them."""
    replays = Replays(tmp_path_factory.mktemp("silent"), process)
    return replays.replay(replays.record(guarded_fleet.silent, path))


@pytest.fixture(scope="module")
def visible(tmp_path_factory: pytest.TempPathFactory, process: ReplayProcess, path: str) -> Verdict:
    """The verdict on a run of an agent per read, whose steps follow from it."""
    replays = Replays(tmp_path_factory.mktemp("visible"), process)
    return replays.replay(replays.record(guarded_fleet.visible, path))


def test_reads_without_consequence_limit_the_proof(silent: Verdict) -> None:
    """Every step was as recorded; but another replay may differ, so no more is claimed, and the first read is named."""
    assert limited(silent).steps_replayed == silent.steps_recorded
    assert (silent.control_flow, silent.state, silent.content) == ("reproduced", "reproduced", "not_proved")
    found = silent.first_divergence
    assert found is not None
    assert (found.kind, found.unrecorded, found.recorded) == (DivergenceKind.UNRECORDED_INPUT, silent.blocked[0], None)
    assert f"{guarded_fleet.__file__}:{silent.blocked[0].line}" in found.sentence


@pytest.mark.parametrize("name", guarded_fleet.READS)
def test_every_read_is_named_with_its_line(silent: Verdict, name: str) -> None:
    """Whatever way control logic takes past the boundary, its own line is blamed, once, with what to do about it."""
    assert {read.file for read in silent.blocked} == {guarded_fleet.__file__}
    found = [read for read in silent.blocked if f'"{name}": ' in line_at(f"{read.file}:{read.line}")]
    assert len({read.what for read in found}) == len(found) > 0
    for read in found:
        assert (read.agent_id, read.after_step) == ("clerk", 1 + list(guarded_fleet.READS).index(name))
        assert read.remedy


def test_nothing_else_is_named(silent: Verdict) -> None:
    """Neither asyncio, nor logging, nor the machinery itself."""
    lines = [line_at(f"{read.file}:{read.line}") for read in silent.blocked]
    assert [line for line in lines if not line.startswith('    "')] == []


@pytest.mark.parametrize("name", guarded_fleet.READS)
def test_a_read_with_a_consequence_is_the_divergence(visible: Verdict, name: str) -> None:
    """The step that it changed is kept, with both sides, and the read is to blame."""
    assert diverged(visible).agent_id == "agent0"
    agent_id = f"agent{list(guarded_fleet.READS).index(name)}"
    (found,) = (one for one in visible.divergences if one.agent_id == agent_id)
    assert (found.kind, found.step) == (DivergenceKind.UNRECORDED_INPUT, 2)
    assert asked(found.recorded) == "nothing"
    assert found.replayed is not None
    assert found.replayed.name == "_one"
    assert found.unrecorded is not None
    assert f'"{name}": ' in line_at(f"{found.unrecorded.file}:{found.unrecorded.line}")


def test_a_read_is_to_blame_whichever_agent_is_the_current_one(replays: Replays) -> None:
    """A function that holds several agents reads for any of them: the one whose next step changes is the one."""
    source = """
import time

def desk(run):
    with run.agent("ada") as ada, run.agent("bob") as bob:
        bob.call(work, 1)
        ada.call(work, time.time())
"""
    found = diverged(replays.replay(replays.record(source)))
    assert (found.kind, found.agent_id, found.step) == (DivergenceKind.UNRECORDED_INPUT, "ada", 1)
    innocent = source.replace("bob.call(work, 1)", "time.time(); bob.call(work, 1)").replace(
        "work, time.time()", "len, 'x'"
    )
    run_id = replays.record(innocent)
    other = diverged(replays.replay(run_id, innocent.replace("len, 'x'", "len, 'y'")))
    assert (other.kind, other.agent_id) == (DivergenceKind.ARGUMENT_CHANGED, "ada")


def test_many_reads_of_one_line_are_one(replays: Replays) -> None:
    """A loop is named once."""
    assert len(limited(replays.replay(replays.record(guarded_fleet.again_and_again))).blocked) == 1


@pytest.mark.parametrize("entrypoint", [guarded_fleet.plain, guarded_fleet.plain_async])
def test_what_belongs_to_nobody_outside_is_not_blamed(replays: Replays, entrypoint: object) -> None:
    """Seeded generators, constructed times, code, and what logging and asyncio read for their own ends are no inputs."""
    assert callable(entrypoint)
    assert reproduced(replays.replay(replays.record(entrypoint, [1, 2, 3]))).blocked == ()


def test_reads_in_tools_are_not_made_at_all(replays: Replays) -> None:
    """A replayed tool is not executed, so it reads nothing."""
    source = """
import time

def tells():
    return time.time()

def desk(run):
    with run.agent("clerk") as agent:
        agent.call(work, agent.call(tells))
"""
    assert reproduced(replays.replay(replays.record(source))).blocked == ()


def test_reads_of_imports_are_named(replays: Replays) -> None:
    """A module that reads the clock while it is imported gives another value in every process."""
    source = """
import time

STARTED = time.time()

def desk(run):
    with run.agent("clerk") as agent:
        agent.call(work, 1)
"""
    verdict = reproduced(replays.replay(replays.record(source)))
    (taint,) = verdict.taints
    assert "time.time" in taint
    assert "desk.py" in taint


def test_an_imported_file_that_is_read_on_import_is_named(replays: Replays, path: str) -> None:
    """A file is an input, whoever reads it when."""
    source = f"""
with open({path!r}) as file:
    SETTINGS = file.read()

def desk(run):
    with run.agent("clerk") as agent:
        agent.call(work, SETTINGS)
"""
    verdict = limited(replays.replay(replays.record(source)))
    (read,) = verdict.blocked
    assert (read.source, read.what) == ("file", "open")


def test_a_read_of_a_helper_module_is_blamed_on_the_helper(replays: Replays, tmp_path: Path) -> None:
    """The nearest line of control logic is the one that read, not the one that called it."""
    before = "def desk(run):\n    import helper\n    with run.agent('clerk') as agent:\n        helper.read()\n"
    directory = replays.code(before)
    (directory / "helper.py").write_text("import time\n\n\ndef read():\n    return time.time()\n")
    run_id = replays.record("def desk(run):\n    with run.agent('clerk') as agent:\n        pass\n")
    (read,) = limited(replays.replay(run_id, code=str(directory))).blocked
    assert (Path(read.file).name, read.line) == ("helper.py", 5)
