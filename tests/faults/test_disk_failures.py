"""A full or failing disk: a clear error before anything is acknowledged, and what was recorded before is intact."""

from __future__ import annotations

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
    def one(number: int) -> bool:
        path = tmp_path / f"home-{number}"
        outcome = syscalls.failing_at(SCRIPT, path, call=call, error=error, number=number, onwards=onwards)
        assert outcome.errors == "", "no traceback"
        said = outcome.said[-1]
        if said != "closed":
            assert outcome.returncode == 3, outcome
            assert said.startswith(("SpoolUnwritable: ", "StoreUnavailable: ")), said
            assert REASONS[error] in said
            assert str(path) in said
        check_after_crash(path, outcome.said)
        return said != "closed"

    assert syscalls.swept(one) > 0


@pytest.mark.parametrize(("call", "error"), FAULTS)
def test_a_disk_that_fails_from_some_call_on(tmp_path: Path, call: str, error: str) -> None:
    """Not even taking back the unfinished write has to succeed for the rest to stay whole."""
    _sweep(tmp_path, call, error, onwards=True)


def test_a_disk_that_fails_once(tmp_path: Path) -> None:
    """One error is enough: nothing is acknowledged behind it."""
    _sweep(tmp_path, "write", "EIO", onwards=False)
