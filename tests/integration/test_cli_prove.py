"""Proving things about recorded runs: replay, fork, diff, verify, rebuild, export, reconcile, doctor."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from cli import tacho
from cli_fleet import record
from tachograph.control._exit import ExitCode
from tachograph.schemas import read_container

TESTS = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A home with a run that went well and one whose mail is UNKNOWN."""
    home = tmp_path_factory.mktemp("prove") / "home"
    return home, asyncio.run(record(str(home), "anna", "dropped"))


Recorded = tuple[Path, list[str]]


def test_replay_reproduces_with_nothing_sent(recorded: Recorded) -> None:
    """Both runs, the failed one, too: reproduced on every level, answers served, none live, exit code 0."""
    home, run_ids = recorded
    done = tacho("--home", home, "replay", "--all", "--json")
    assert done.code == ExitCode.OK, done.out
    assert [run["run_id"] for run in done.result["runs"]] == run_ids
    assert done.result["summary"] == {
        "runs": 2, "reproduced": 2, "diverged": 0, "limited": 0, "live_calls": 0,
        "levels_reproduced": {"control_flow": 2, "state": 2, "content": 2},
    }  # fmt: skip
    for run in done.result["runs"]:
        assert set(run["verdict"]["levels"].values()) == {"reproduced"}
        assert run["verdict"]["served"]["tool"] == 2


def test_replay_of_one_run_reads_in_ten_seconds(recorded: Recorded, tmp_path: Path) -> None:
    """Status first, then the three levels, what was served, and the report."""
    home, run_ids = recorded
    done = tacho("--home", home, "replay", run_ids[0], "--report", tmp_path / "report")
    lines = done.out.splitlines()
    assert lines[0].startswith("REPRODUCED  desk")
    assert [line.split()[0] for line in lines[1:4]] == ["control", "state", "content"]
    assert "none sent out" in lines[4]
    assert (tmp_path / "report" / "report.html").is_file()
    assert str(tmp_path / "report" / "report.html") in done.out


def test_a_run_named_twice_is_replayed_once(recorded: Recorded) -> None:
    """By its id and by the beginning of it: one row."""
    home, run_ids = recorded
    done = tacho("--home", home, "replay", run_ids[0], run_ids[0][:-1], run_ids[0], "--json")
    assert [run["run_id"] for run in done.result["runs"]] == run_ids[:1]


def changed_code(directory: Path) -> Path:
    """The fleet with one argument changed."""
    text = (TESTS / "cli_fleet.py").read_text()
    (directory / "cli_fleet.py").write_text(text.replace("agent.call(look_up, ticket)", 'agent.call(look_up, "T-2")'))
    return directory


def test_replay_of_changed_code_names_the_first_divergence(recorded: Recorded, tmp_path: Path) -> None:
    """One changed argument: exit code 1, the place, both sides, and the field."""
    home, run_ids = recorded
    code = changed_code(tmp_path)
    done = tacho("--home", home, "replay", run_ids[0], "--code", code, "--json")
    assert done.code == ExitCode.DIFFERENT
    first = done.result["runs"][0]["verdict"]["first_divergence"]
    assert (first["kind"], first["agent"]) == ("ARGUMENT_CHANGED", "triage")
    assert [(change["recorded"], change["replayed"]) for change in first["changes"]] == [('"T-1"', '"T-2"')]
    text = tacho("--home", home, "replay", run_ids[0], "--code", code).out
    assert "First divergence" in text
    assert "T-2" in text


def test_replay_without_the_code_is_limited(recorded: Recorded, tmp_path: Path) -> None:
    """Control logic that cannot be imported: exit code 2, never "reproduced", and what to do."""
    home, run_ids = recorded
    (tmp_path / "cli_fleet.py").write_text("raise ImportError('gone')\n")
    done = tacho("--home", home, "replay", run_ids[0], "--code", tmp_path, "--json")
    assert done.code == ExitCode.LIMITED
    assert done.result["summary"]["limited"] == 1


def test_fork_with_other_control_logic(recorded: Recorded) -> None:
    """A fork is a new run with its parent named, and says where it leaves it."""
    home, run_ids = recorded
    done = tacho("--home", home, "fork", run_ids[0], "--replace", "cli_fleet:desk=cli_fleet:other_desk", "--json")
    assert done.code in (ExitCode.OK, ExitCode.LIMITED)
    assert done.result["parent_run_id"] == run_ids[0]
    assert done.result["verdict"]["first_divergence"]["agent"] in ("triage", "mailer")
    assert not any(done.result["verdict"]["live"].values())
    fork = tacho("--home", home, "show", done.result["run_id"], "--json").result["run"]
    assert fork["parent_run_id"] == run_ids[0]


def test_diff_of_a_run_with_itself_and_with_another(recorded: Recorded) -> None:
    """The same run: exit code 0. Another mail address: exit code 1 and the place."""
    home, run_ids = recorded
    same = tacho("--home", home, "diff", run_ids[0], run_ids[0], "--json")
    assert (same.code, same.result["same"]) == (ExitCode.OK, True)
    other = tacho("--home", home, "diff", run_ids[0], run_ids[1], "--json")
    assert other.code == ExitCode.DIFFERENT
    assert other.result["first_divergence"]["agent"] == "mailer"
    assert other.result["first_divergence"]["kind"] == "ARGUMENT_CHANGED"
    text = tacho("--home", home, "diff", run_ids[0], run_ids[1]).out
    assert text.startswith(f"DIFFERENT  run A: {run_ids[0]}, run B: {run_ids[1]}")
    assert f"[{run_ids[0]}/mailer#1." in text
    assert f"[{run_ids[1]}/mailer#1." in text
    assert "(run A)" in text
    assert "replay" not in text
    assert "recording" not in text
    assert "run A calls" in other.result["first_divergence"]["sentence"]


def test_verify_finds_a_whole_home_whole(recorded: Recorded) -> None:
    """Nothing was touched: exit code 0, and how much was checked."""
    home, run_ids = recorded
    done = tacho("--home", home, "verify", "--json")
    assert done.code == ExitCode.OK, done.out
    assert done.result["findings"] == []
    assert done.result["events"] > 20
    assert tacho("--home", home, "verify", run_ids[0]).out.startswith("WHOLE")


def test_verify_finds_a_flipped_byte(tmp_path: Path) -> None:
    """One flipped byte in the log: exit code 1, the segment and the event."""
    home = tmp_path / "home"
    asyncio.run(record(str(home), "anna"))
    (segment,) = (home / "log").rglob("*.seg")
    data = bytearray(segment.read_bytes())
    data[len(data) // 2] ^= 1
    segment.write_bytes(data)
    done = tacho("--home", home, "verify", "--json")
    assert done.code == ExitCode.DIFFERENT
    assert any(finding["path"] for finding in done.result["findings"])
    assert "DAMAGED" in tacho("--home", home, "verify").out


def test_rebuild_check_agrees_with_the_log(recorded: Recorded) -> None:
    """The catalogue equals what the log folds to; rebuilding it changes nothing."""
    home, _ = recorded
    before = tacho("--home", home, "runs", "--json").out
    assert tacho("--home", home, "rebuild", "--check", "--json").result["differences"] == []
    assert tacho("--home", home, "rebuild").code == ExitCode.OK
    assert tacho("--home", home, "runs", "--json").out == before


def test_export_writes_one_file_that_stands_alone(recorded: Recorded, tmp_path: Path) -> None:
    """Every event of the run is in the container; an existing file is not overwritten."""
    home, run_ids = recorded
    target = tmp_path / "run.tacho"
    done = tacho("--home", home, "export", run_ids[0], "--to", target, "--json")
    assert done.code == ExitCode.OK, done.err
    with target.open("rb") as file:
        container = read_container(file)
        assert container.manifest["run_id"] == run_ids[0]
        assert len(list(container.payloads)) == done.result["events"]
    again = tacho("--home", home, "export", run_ids[0], "--to", target)
    assert again.code == ExitCode.USAGE
    assert "exists already" in again.err


def test_reconcile_decides_an_unknown_effect(tmp_path: Path) -> None:
    """A person says what happened; the ledger keeps who and why; a second decision is refused."""
    home = tmp_path / "home"
    asyncio.run(record(str(home), "dropped"))
    (effect,) = tacho("--home", home, "effects", "--json").result["effects"]
    decide = ("reconcile", effect["effect_id"], "--as", "confirmed", "--reason", "the provider shows it", "--by", "ann")
    assert tacho("--home", home, *decide).code == ExitCode.OK
    (after,) = tacho("--home", home, "effects", "--json").result["effects"]
    assert (after["state"], after["by"], after["reason"]) == ("RECONCILED", "person:ann", "the provider shows it")
    again = tacho("--home", home, *decide)
    assert again.code == ExitCode.USAGE
    assert effect["effect_id"] in again.err


def test_reconciling_what_is_not_there_is_refused(recorded: Recorded) -> None:
    """An effect id that names nothing: exit code 64 and how to list effects."""
    home, run_ids = recorded
    done = tacho("--home", home, "reconcile", f"{run_ids[0]}/mailer#1.99", "--as", "failed", "--reason", "x")
    assert done.code == ExitCode.USAGE
    assert "tacho effects" in done.err


def test_the_doctor_finds_everything(recorded: Recorded) -> None:
    """An installation with every part: each service loads, the home opens, exit code 0."""
    home, _ = recorded
    done = tacho("--home", home, "doctor", "--json")
    assert done.code == ExitCode.OK, done.out
    assert {check["name"] for check in done.result["checks"]} >= {"service replay", "service demo", "log", "disk"}
