"""The README's example runs as written."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from cli import tacho
from house import ROOT

README = (ROOT / "README.md").read_text()
LINES_MAX = 30


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory in which the example was run once, as the README says."""
    directory = tmp_path_factory.mktemp("readme")
    (code,) = re.findall(r"```python\n(# refund_desk\.py\n.*?)```", README, re.DOTALL)
    assert len(code.splitlines()) <= LINES_MAX
    (directory / "refund_desk.py").write_text(code)
    done = subprocess.run(
        [sys.executable, "refund_desk.py"], cwd=directory, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "refunded 4200 for T-1\n"
    return directory


def test_the_recording_is_where_the_readme_says(example: Path) -> None:
    """`tacho runs` finds the run in `.tacho`, finished."""
    (run,) = tacho("--home", example / ".tacho", "runs", "--json").result["runs"]
    assert (run["name"], run["status"], run["fidelity"]) == ("desk", "FINISHED", "COMPLETE")


def test_the_timeline_shows_the_refund(example: Path) -> None:
    """`tacho timeline latest` shows the effect."""
    assert "refund(" in tacho("--home", example / ".tacho", "timeline", "latest").out


def test_the_replay_reproduces(example: Path) -> None:
    """`tacho replay latest` prints what the README shows, ids and times apart."""
    done = tacho("--home", example / ".tacho", "replay", "latest")
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
    done = tacho("--home", example / ".tacho", "replay", "latest", "--code", tmp_path, "--json")
    assert done.code == 1
    first = done.result["runs"][0]["verdict"]["first_divergence"]
    assert (first["kind"], first["recorded"]["name"]) == ("ARGUMENT_CHANGED", "refund")


def test_every_link_leads_somewhere() -> None:
    """No document links to a file that is not there."""
    for document in [ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", document.read_text()):
            assert (document.parent / target).exists(), f"{document.name} links to {target}"
