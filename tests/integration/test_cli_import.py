"""`tacho import`: transcripts become runs with an honest grade, and what is skipped is named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli import tacho
from tachograph.control._exit import ExitCode

ROW = {
    "task_id": 3,
    "trial": 1,
    "reward": 1.0,
    "info": {"task": {"user_id": "u", "instruction": "i", "actions": [], "outputs": []}},
    "traj": [
        {"role": "system", "content": "policy"},
        {"role": "user", "content": "hello"},
        {"role": "assistant", "content": "done ###STOP###"},
    ],
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A transcript of one row, and one that is not a row."""
    path = tmp_path / "rows.json"
    path.write_text(json.dumps([ROW, {"no": "row"}]))
    return path


def test_imported_runs_are_listed_with_their_grade(file: Path, tmp_path: Path) -> None:
    """One run, never COMPLETE; the bad row is named; the run can be looked at."""
    home = tmp_path / "home"
    done = tacho("--home", home, "import", "airline", file, "--json")
    assert done.code == ExitCode.OK, done.err
    assert done.result["fidelity"] == {"CONTROL_FLOW": 1}
    assert len(done.result["skipped"]) == 1
    (run,) = tacho("--home", home, "runs", "--json").result["runs"]
    assert [run["run_id"]] == done.result["run_ids"]
    assert run["fidelity"] == "CONTROL_FLOW"
    assert run["missing"]


def test_importing_twice_adds_nothing_unless_asked(file: Path, tmp_path: Path) -> None:
    """What is there already is skipped and named; `--again` imports it as a new run."""
    home = tmp_path / "home"
    tacho("--home", home, "import", "airline", file)
    second = tacho("--home", home, "import", "airline", file, "--json")
    assert second.result["run_ids"] == []
    assert len(second.result["skipped"]) == 2
    third = tacho("--home", home, "import", "airline", file, "--again", "--json")
    assert len(third.result["run_ids"]) == 1


def test_a_file_that_is_no_transcript_is_said(tmp_path: Path) -> None:
    """Nothing could be imported: exit code not 0, the file and what is wrong."""
    bad = tmp_path / "bad.json"
    bad.write_text("{")
    done = tacho("--home", tmp_path / "home", "import", "who-and-when", bad)
    assert done.code != ExitCode.OK
    assert "bad.json" in done.out + done.err


def test_a_directory_without_transcripts_is_said(tmp_path: Path) -> None:
    """Nothing could be imported: exit code 64 and why, never a quiet success."""
    (tmp_path / "empty").mkdir()
    done = tacho("--home", tmp_path / "home", "import", "airline", tmp_path / "empty")
    assert done.code == ExitCode.USAGE
    assert "there is no .json file in this directory" in done.err
