"""kill -9 at every system call that changes the disk: what was acknowledged is there, and nothing is damaged."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from faults import syscalls
from faults.spool_checks import check_after_crash

SCRIPT = Path(__file__).parent / "spool_process.py"
SWEPT = tuple(call for call in syscalls.DURABLE_CALLS if call != "ftruncate")


@pytest.mark.parametrize("call", SWEPT)
def test_a_kill_at_any_call_loses_nothing_acknowledged(tmp_path: Path, call: str) -> None:
    """At each of them, one process after the other."""

    def one(number: int) -> bool:
        path = tmp_path / f"home-{number}"
        outcome = syscalls.killed_at(SCRIPT, path, call=call, number=number)
        assert outcome.returncode == -9 or outcome.said[-1] == "closed", outcome
        check_after_crash(path, outcome.said)
        return outcome.returncode == -9

    assert syscalls.swept(one) > 0


def test_what_is_acknowledged_was_synced_before(tmp_path: Path) -> None:
    """A kill does not lose what the kernel has; a power failure does. So the order of the calls is looked at."""
    _, calls = syscalls.traced(SCRIPT, tmp_path / "home", log=tmp_path / "log")
    dirty: set[str] = set()
    acknowledged = 0
    for line in calls:
        call, _, rest = line.partition("(")
        if call == "writev":
            acknowledged += 1
            assert dirty == set(), f"not durable at acknowledgement {acknowledged}"
        elif call == "write":
            dirty.add(_path(rest))
        elif call in ("fsync", "fdatasync"):
            dirty.discard(_path(rest))
        elif call in ("rename", "link"):
            source, target = re.findall(r'"([^"]*)"', rest)[:2]
            _moved(dirty, source, target)
            dirty.add(str(Path(target).parent))
        elif call == "mkdir" and rest.rstrip().endswith("= 0"):
            made = re.findall(r'"([^"]*)"', rest)[0]
            if not Path(made).name.startswith("home"):
                dirty.add(str(Path(made).parent))
    assert acknowledged == 7


def _path(rest: str) -> str:
    found = re.match(r"\d+<([^>]*)>", rest)
    assert found is not None, rest
    return found[1]


def _moved(dirty: set[str], source: str, target: str) -> None:
    """Files that were not synced before a rename are no more so after it."""
    for path in list(dirty):
        if path == source or path.startswith(f"{source}/"):
            dirty.remove(path)
            dirty.add(target + path[len(source) :])
