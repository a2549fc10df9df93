"""The README's example runs as written."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cli import tacho
from house import ROOT

README = (ROOT / "README.md").read_text()
LINES_MAX = 30


def run_example(directory: Path, *arguments: str) -> str:
    """What the example prints."""
    done = subprocess.run(
        [sys.executable, "refund_desk.py", *arguments], cwd=directory, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory in which the example was run twice, as the README says."""
    directory = tmp_path_factory.mktemp("readme")
    (code,) = re.findall(r"```python\n(# refund_desk\.py\n.*?)```", README, re.DOTALL)
    assert len(code.splitlines()) <= LINES_MAX
    (directory / "refund_desk.py").write_text(code)
    shown = re.findall(r"^python (refund_desk\.py .*?) +# ([^:\n]*)", README, re.MULTILINE)
    assert len(shown) == 2
    for command, output in shown:
        assert run_example(directory, *command.split()[1:]) == f"{output}\n"
    return directory


def runs_of(example: Path) -> list[dict[str, Any]]:
    """The runs of the example's home."""
    found: list[dict[str, Any]] = tacho("--home", example / ".tacho", "runs", "--json").result["runs"]
    return found


def test_the_recording_is_where_the_readme_says(example: Path) -> None:
    """`tacho runs` finds the runs in `.tacho`, finished, whole, and without a signature."""
    for run in runs_of(example):
        assert (run["name"], run["status"], run["fidelity"]) == ("desk", "FINISHED", "COMPLETE")
        assert (run["outcome"], run["signatures"]) == ("OK", [])


def test_the_example_can_be_run_again_and_again(example: Path, tmp_path: Path) -> None:
    """Without a ticket it has one; the same ticket is refunded once, another one anew."""
    (tmp_path / "refund_desk.py").write_text((example / "refund_desk.py").read_text())
    first, second, other = run_example(tmp_path), run_example(tmp_path), run_example(tmp_path, "T-2")
    assert (first, second, other) == ("refunded 4200 for T-1\n", "T-1 has its refund\n", "refunded 4200 for T-2\n")


def test_the_timeline_shows_the_refund(example: Path) -> None:
    """`tacho timeline latest` shows the effect."""
    assert "refund(" in tacho("--home", example / ".tacho", "timeline", "latest").out


def test_the_replay_reproduces(example: Path) -> None:
    """`tacho replay` prints what the README shows, ids and times apart; the refused run reproduces as well."""
    assert tacho("--home", example / ".tacho", "replay", "--all").code == 0
    done = tacho("--home", example / ".tacho", "replay", runs_of(example)[0]["run_id"])
    assert done.code == 0
    (shown,) = re.findall(r"```\n(REPRODUCED .*?)```", README, re.DOTALL)
    assert [line.split()[:3] for line in done.out.splitlines()[1:]] == [
        line.split()[:3] for line in shown.splitlines()[1:]
    ]
    (answers,) = [line for line in shown.splitlines() if line.startswith("  answers")]
    assert answers in done.out.splitlines()


def test_a_change_is_named(example: Path, tmp_path: Path) -> None:
    """Changed control logic diverges at the changed call."""
    code = (example / "refund_desk.py").read_text().replace('answer["cents"])', "1)")
    (tmp_path / "refund_desk.py").write_text(code)
    run_id = runs_of(example)[0]["run_id"]
    done = tacho("--home", example / ".tacho", "replay", run_id, "--code", tmp_path, "--json")
    assert done.code == 1
    first = done.result["runs"][0]["verdict"]["first_divergence"]
    assert (first["kind"], first["recorded"]["name"]) == ("ARGUMENT_CHANGED", "refund")


def test_every_link_leads_somewhere() -> None:
    """No document links to a file that is not there."""
    for document in [ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", document.read_text()):
            assert (document.parent / target).exists(), f"{document.name} links to {target}"
