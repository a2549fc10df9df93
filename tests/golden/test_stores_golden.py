"""Homes that earlier releases wrote stay readable, and verify as they did."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tachograph.schemas import CallStarted, EffectState, decode
from tachograph.stores import FindingKind, Home, RunStatus, verify_home

HOMES = sorted((Path(__file__).parent / "homes").iterdir())


@pytest.fixture(params=HOMES, ids=lambda path: path.name)
def home(request: pytest.FixtureRequest, tmp_path: Path) -> Home:
    """A copy of a golden home: reading makes a catalogue."""
    copy = tmp_path / "home"
    shutil.copytree(request.param, copy)
    return Home.open(copy)


def test_there_is_a_golden_home_of_the_current_format() -> None:
    """Whoever makes another format adds one."""
    assert "1" in {path.name for path in HOMES}


def test_its_runs_are_read(home: Home) -> None:
    """With their bodies and effects."""
    one, two = home.catalogue.runs()
    assert (one.run_id, one.status, one.events) == ("golden-1", RunStatus.FINISHED, 4)
    assert (two.run_id, two.status, two.events) == ("golden-2", RunStatus.TRUNCATED, 3)
    call = decode(list(home.log.read_run("golden-1"))[1].payload)
    assert isinstance(call, CallStarted)
    assert home.body(call.arguments, "call").startswith(b'"0 1 2 3')
    (effect,) = home.catalogue.effects()
    assert (effect.run_id, effect.state) == ("golden-2", EffectState.UNKNOWN)


def test_it_verifies(home: Home) -> None:
    """But for what a crash had left."""
    report = verify_home(home)
    assert [(finding.kind, finding.event_id) for finding in report.findings] == [
        (FindingKind.TRUNCATED, "golden-2/run#1.3"),
        (FindingKind.TORN, None),
    ]
    assert (report.events, report.segments, report.runs) == (7, 3, 2)
