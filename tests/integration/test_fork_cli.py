"""`tacho fork` as it is typed: options, documents, exit codes; and the demo's fork, over two processes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import fork_fleet
from cli import tacho
from forks import Forks, forks, record
from tachograph.control._exit import ExitCode

GRANT = '{"approver": "dora", "granted": true}'


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forks]:
    """A home to fork in."""
    with forks(tmp_path_factory.mktemp("forks") / "home") as found:
        yield found


@pytest.fixture(scope="module")
def parent(desk: Forks) -> str:
    """A recorded refund."""
    return record(desk.path, fork_fleet.refund, "alice")


def test_a_what_if_is_typed(desk: Forks, parent: str) -> None:
    """An event id of the time line, and JSON."""
    event = desk.place(parent, "clerk", "decide")
    done = tacho("--home", desk.path, "fork", parent, "--result", f'{event}={{"answer": "no"}}', "--json")
    assert done.code == ExitCode.OK
    assert done.result["ended"] == "OK"
    assert done.result["parent_run_id"] == parent
    assert done.result["verdict"]["status"] == "diverged"
    assert done.result["verdict"]["live"] == {}
    assert tacho("--home", desk.path, "verify").code == ExitCode.OK
    assert tacho("--home", desk.path, "replay", done.result["run_id"]).code == ExitCode.OK


def test_an_event_of_the_parent_needs_no_run(desk: Forks, parent: str) -> None:
    """`AGENT#1.5` is the parent's; and the screen speaks of parent and fork, not of a replay."""
    event = desk.place(parent, "clerk", "decide").partition("/")[2]
    done = tacho("--home", desk.path, "fork", parent, "--from", event, "--result", f'{event}={{"answer": "no"}}')
    assert done.code == ExitCode.OK, done.err
    shown = done.out.partition("First divergence")[2]
    assert "the parent" in shown
    assert "the fork" in shown
    assert "the replay" not in shown
    assert tacho("--home", desk.path, "fork", parent, "--from", "clerk").code == ExitCode.USAGE


def test_a_fork_that_had_to_stop_has_an_exit_code_of_its_own(desk: Forks, parent: str) -> None:
    """2, and the screen names the option that helps; with it, 0."""
    event = desk.place(parent, "clerk", "ask_person")
    done = tacho("--home", desk.path, "fork", parent, "--from", event)
    assert done.code == ExitCode.LIMITED
    assert f"--approval {event}=JSON" in " ".join(done.out.split())
    assert tacho("--home", desk.path, "fork", parent, "--from", event, "--approval", f"{event}={GRANT}").code == 0


@pytest.mark.parametrize("value", ["NaN", "[1, -Infinity]", "{answer: 1}"])
def test_a_result_that_is_no_json_is_refused(desk: Forks, parent: str, value: str) -> None:
    """By its value, before anything is written."""
    event = desk.place(parent, "clerk", "decide")
    before = tacho("--home", desk.path, "runs", "--json").result["runs"]
    done = tacho("--home", desk.path, "fork", parent, "--from", event, "--result", f"{event}={value}")
    assert done.code == ExitCode.USAGE
    assert "it is not JSON" in done.err
    assert tacho("--home", desk.path, "runs", "--json").result["runs"] == before


def test_code_comes_from_a_directory(desk: Forks, parent: str, tmp_path: Path) -> None:
    """Mended control logic lies where it was mended; the fork's replay finds it there."""
    text = Path(fork_fleet.__file__).read_text()
    (tmp_path / "fork_fleet.py").write_text(text.replace("T-1", "T-2"))
    options = ("--code", tmp_path, "--miss", "stub", "--json")
    done = tacho("--home", desk.path, "fork", parent, *options)
    assert done.result["verdict"]["first_divergence"]["kind"] == "ARGUMENT_CHANGED"
    code = done.result["verdict"]["code"]
    assert code["recorded"] != code["replayed"]
    assert desk.replay(done.result["run_id"]).verdict.first_divergence is None


def test_an_event_that_is_not_there_is_refused(desk: Forks, parent: str) -> None:
    """A sentence on stderr, and nothing written."""
    before = len(list(desk.home.log.run_ids()))
    done = tacho("--home", desk.path, "fork", parent, "--from", f"{parent}/clerk#1.99")
    assert done.code == ExitCode.USAGE
    assert "tacho timeline" in done.err
    assert len(list(desk.home.log.run_ids())) == before


def test_the_demos_fork(tmp_path: Path) -> None:
    """The mended mailer stops in ReconciliationRequired, in its own process, and no mail goes out."""
    home = tmp_path / "home"
    assert tacho("--home", home, "demo").code == ExitCode.OK
    demo, forked = tacho("--home", home, "runs", "--json").result["runs"]
    assert forked["parent_run_id"] == demo["run_id"]
    assert (forked["effects"], forked["unknown_effects"], forked["signatures"]) == (3, 0, [])
    assert tacho("--home", home, "verify", forked["run_id"]).code == ExitCode.OK
    package = "tachograph.producers.demo._back_office"
    replaced = f"{package}:mailer={package}:careful_mailer"
    again = tacho("--home", home, "fork", demo["run_id"], "--replace", replaced, "--json")
    assert "ReconciliationRequired" in again.result["ended"]
    assert again.result["verdict"]["live"] == {}
    assert tacho("--home", home, "replay", again.result["run_id"]).code == ExitCode.OK
