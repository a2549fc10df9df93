"""kill -9 of whoever ships, in every step and under load: nothing is lost, order holds, what comes twice is the same."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

from faults import syscalls
from services import kafka
from shipping import EVENTS, check, ledger_of, record
from tachograph.producers.shipper import ship
from tachograph.stores import Home
from tachograph.stores.backend import Backend
from tachograph.stores.kafka import ensure_topics

SCRIPT = Path(__file__).parent / "ship_process.py"
_PREFIXES = count(1)


def silent(_done: int, _all: int, _what: str) -> None:
    """Progress that nobody sees."""


def fresh() -> Backend:
    """The test run's broker, with a topic that nobody has sent to."""
    backend = Backend(kafka=replace(kafka(), topic_prefix=f"kill{os.getpid()}.{next(_PREFIXES)}."))
    assert backend.kafka is not None
    ensure_topics(backend.kafka, [EVENTS])
    return backend


def arguments(what: str, home: Path, backend: Backend) -> tuple[str, ...]:
    """Of the script."""
    assert backend.kafka is not None
    return (what, str(home), backend.kafka.bootstrap, backend.kafka.topic_prefix)


def copied(home: Path, target: Path) -> Path:
    """The same home, not shipped yet."""
    Home.open(target, create=True)
    for spool in (home / "log").iterdir():
        if spool.is_dir():
            (target / "log" / spool.name).mkdir()
            for name in ("00000001.seg", "lock", "bodies"):
                (target / "log" / spool.name / name).hardlink_to(spool / name)
    return target


@pytest.mark.parametrize(
    ("call", "numbers"), [("rename", (1, 2, 4)), ("sendmsg", (4, 6, 9, 13)), ("openat", (1200, 1220))]
)
def test_a_killed_shipper_loses_nothing(tmp_path: Path, call: str, numbers: tuple[int, ...]) -> None:
    """At the mark, in the middle of sending, and between: whoever comes next ships the rest."""
    record(tmp_path / "home", 2, 12).close()
    ledger = ledger_of(tmp_path / "home")
    killed = 0
    for number in numbers:
        backend, home = fresh(), copied(tmp_path / "home", tmp_path / f"home-{number}")
        outcome = syscalls.killed_at(SCRIPT, *arguments("ship", home, backend), call=call, number=number)
        killed += outcome.returncode == -9
        assert outcome.returncode == -9 or outcome.said[-1] == f"shipped {len(ledger)}", outcome
        ship(home, backend, silent)
        check(home, backend, ledger, duplicates_max=len(ledger))
    assert killed or call == "openat"


def test_a_recorder_killed_under_load_loses_nothing(tmp_path: Path) -> None:
    """Again and again, at random: every event that its spools hold arrives, once those are shipped."""
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    chance, home, backend = random.Random(seed), tmp_path / "home", fresh()
    environment = {**os.environ, "PYTHONPATH": str(SCRIPT.parents[1])}
    for _ in range(3):
        command = [sys.executable, str(SCRIPT), *arguments("record", home, backend)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as process:
            assert process.stdout is not None
            for _ in range(chance.randrange(2, 9)):
                assert process.stdout.readline()
            process.kill()
    done = ship(home, backend, silent)
    assert done.is_complete
    ledger = ledger_of(home)
    assert len({event_id.run_id for event_id in ledger}) >= 6
    check(home, backend, ledger, duplicates_max=len(ledger))
