"""Every environment variable is documented in one place, and what is documented is read."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from house import ROOT, source_files

DOCUMENT = ROOT / "docs" / "settings.md"
VARIABLE = re.compile(r"\bTACHO_[A-Z][A-Z0-9_]*\b")
READERS = {
    "core/tachograph/stores/backend/_settings.py",
    "control/tachograph/control/_main.py",
    "control/tachograph/control/dev/_cache.py",
    "producers/tachograph/producers/_settings.py",
    "replay_workers/tachograph/replay_workers/_guard_outside.py",
    "replay_workers/tachograph/replay_workers/_process.py",
}
"""Modules that may look at the environment: three parse settings, one finds the cache, two guard a replay."""


def documented() -> set[str]:
    """The variables in the table of docs/settings.md."""
    rows = re.findall(r"^\| (`.*?`) \|", DOCUMENT.read_text(), re.MULTILINE)
    return {name for row in rows for name in re.findall(r"`([A-Z0-9_]+)`", row)}


def named_in_code() -> set[str]:
    """TACHO_ variables in the text of code, tests and workshop."""
    files = [*source_files(), *(ROOT / "tests").rglob("*.py"), ROOT / "Makefile", ROOT / ".ci" / "run"]
    return {name for path in files for name in VARIABLE.findall(path.read_text())}


def test_variables_and_document_agree() -> None:
    """docs/settings.md names each TACHO_ variable that code knows, and none that it does not."""
    assert {name for name in documented() if name.startswith("TACHO_")} == named_in_code()


def test_documented_variables_are_told_once() -> None:
    """A second place that explains a variable would soon say something else."""
    others = [path for path in (ROOT / "docs").glob("*.md") if path != DOCUMENT]
    for name in documented() - {"TACHO_HOME"}:
        assert [path.name for path in others if name in path.read_text()] == []


@pytest.mark.parametrize("path", source_files(), ids=lambda path: str(path.relative_to(ROOT)))
def test_few_modules_read_the_environment(path: Path) -> None:
    """Settings are parsed once, in known places: nothing else looks at `os.environ`."""
    relative = str(path.relative_to(ROOT))
    names = {ast.unparse(node) for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Attribute)}
    if relative not in READERS:
        assert not names & {"os.environ", "os.getenv", "os.putenv"}, f"{relative}: take it as an argument"
