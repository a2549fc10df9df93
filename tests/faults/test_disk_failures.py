"""A full or failing disk: a clear error before anything is acknowledged, and what was recorded before is intact."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from faults import syscalls
from faults.spool_checks import check_after_crash

SCRIPT = Path(__file__).parent / "spool_process.py"

FAULTS = [
    ("write", "ENOSPC"),
    ("fdatasync", "EIO"),
    ("fsync", "EIO"),
    ("rename", "ENOSPC"),
    ("mkdir", "ENOSPC"),
    ("link", "EIO"),
]

REASONS = {"ENOSPC": "No space left on device", "EIO": "Input/output error"}


def _sweep(tmp_path: Path, call: str, error: str, *, onwards: bool) -> None:
    outcome, calls = syscalls.traced(SCRIPT, tmp_path / "whole", log=tmp_path / "log")
    assert outcome.said[-1] == "closed", outcome

    def one(number: int) -> None:
        path = tmp_path / f"home-{number}"
        failed = syscalls.failing_at(SCRIPT, path, call=call, error=error, number=number, onwards=onwards)
        assert failed.errors == "", "no traceback"
        assert failed.returncode == 3, failed
        said = failed.said[-1]
        assert said.startswith(("SpoolUnwritable: ", "StoreUnavailable: ")), said
        assert REASONS[error] in said
        assert str(path) in said
        check_after_crash(path, failed.said)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(one, range(1, syscalls.counted(calls)[call] + 1)))


@pytest.mark.parametrize(("call", "error"), FAULTS)
def test_a_disk_that_fails_from_some_call_on(tmp_path: Path, call: str, error: str) -> None:
    """Not even taking back the unfinished write has to succeed for the rest to stay whole."""
    _sweep(tmp_path, call, error, onwards=True)


def test_a_disk_that_fails_once(tmp_path: Path) -> None:
    """One error is enough: nothing is acknowledged behind it."""
    _sweep(tmp_path, "write", "EIO", onwards=False)
