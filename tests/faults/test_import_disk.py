"""A disk that fills up during an import: a clear error, whole runs stay, and the rest can be imported afterwards."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from public_runs import BOOKING, nothing
from tachograph.producers.importers import import_airline
from tachograph.stores import Home, verify_home

FITTING = 3
"""Rows that are imported before the disk is full."""

_SCRIPT = """
import resource, sys
from pathlib import Path
from tachograph.core.errors import SpoolUnwritable
from tachograph.producers.importers import import_airline
home, first, second = map(Path, sys.argv[1:])
import_airline(home, [first], lambda *step: None)
resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, 150_000))  # no file can grow beyond: the disk is full
try:
    import_airline(home, [second], lambda *step: None)
except SpoolUnwritable as error:
    print(f"refused: {error}")
"""


def test_an_import_onto_a_full_disk_says_so_and_can_be_taken_up_again(tmp_path: Path) -> None:
    """The error names the log; nothing is damaged; a second import brings exactly what is missing."""
    home, files = tmp_path / "home", [tmp_path / "first.json", tmp_path / "second.json"]
    rows = [{**BOOKING, "task_id": number} for number in range(FITTING + 40)]
    files[0].write_text(json.dumps(rows[:FITTING]))
    files[1].write_text(json.dumps(rows[FITTING:]))
    command = [sys.executable, "-c", _SCRIPT, str(home), *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert "refused: cannot write the event log" in done.stdout
    assert "Traceback" not in done.stderr
    assert not [found for found in verify_home(Home.open(home)).findings if found.severity == "damage"]
    result = import_airline(home, files, nothing)
    there = len(result.skipped)
    assert FITTING <= there < len(rows)
    assert len(result.run_ids) == len(rows) - there
