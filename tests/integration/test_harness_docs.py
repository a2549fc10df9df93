"""What docs/harness.md shows works as it is written."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "harness.md"


def _blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(), re.DOTALL)


def test_the_example_of_the_page_runs(tmp_path: Path) -> None:
    """Its file and its program, put side by side, give the answer and a recording."""
    (assembly,), (program,) = _blocks("yaml"), _blocks("python")
    (tmp_path / "desk.yaml").write_text(assembly)
    (tmp_path / "desk.py").write_text(program)
    done = subprocess.run(
        [sys.executable, "desk.py"], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) == (0, "We refund within 30 days.\n"), done.stderr
    assert (tmp_path / ".tacho" / "format.json").exists()
