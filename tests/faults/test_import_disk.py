"""A disk that fills up during an import: a clear error, whole runs stay, and the rest can be imported afterwards."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from public_runs import BOOKING, nothing
from tachograph.producers.importers import import_airline
from tachograph.stores import Home, verify_home

_SCRIPT = """
import resource, sys
from pathlib import Path
from tachograph.core.errors import SpoolUnwritable
from tachograph.producers.importers import import_airline
resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, 150_000))  # no file can grow beyond: the disk is full
try:
    import_airline(Path(sys.argv[1]), [Path(sys.argv[2])], lambda *step: None)
except SpoolUnwritable as error:
    print(f"refused: {error}")
"""


def test_an_import_onto_a_full_disk_says_so_and_can_be_taken_up_again(tmp_path: Path) -> None:
    """The error names the log; nothing is damaged; a second import brings exactly what is missing."""
    home, path = tmp_path / "home", tmp_path / "rows.json"
    path.write_text(json.dumps([{**BOOKING, "task_id": number} for number in range(40)]))
    command = [sys.executable, "-c", _SCRIPT, str(home), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert "refused: cannot write the event log" in done.stdout
    assert "Traceback" not in done.stderr
    assert not [found for found in verify_home(Home.open(home)).findings if found.severity == "damage"]
    result = import_airline(home, [path], nothing)
    there = len(result.skipped)
    assert 0 < there < 40
    assert len(result.run_ids) == 40 - there
