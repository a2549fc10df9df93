"""Which kinds of failure the recorded runs show."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from cli import tacho
from cli_fleet import record
from tachograph.control._exit import ExitCode


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with two runs, one of which left an UNKNOWN mail."""
    found = tmp_path_factory.mktemp("signatures") / "home"
    asyncio.run(record(str(found), "anna", "dropped"))
    return found


def test_signatures_are_counted_over_runs(home: Path) -> None:
    """Each with its runs, first and last seen, and the hours in between."""
    shown = {one["name"]: one for one in tacho("--home", home, "signatures", "--json").result["signatures"]}
    unknown = shown["SIDE_EFFECT_UNKNOWN"]
    runs = tacho("--home", home, "runs", "--signature", "SIDE_EFFECT_UNKNOWN", "--json").result["runs"]
    assert unknown["run_ids"] == [run["run_id"] for run in runs]
    assert unknown["first_us"] == unknown["last_us"] == runs[0]["started_at_us"]
    assert sum(hour["runs"] for hour in unknown["hours"]) == unknown["runs"] == 1
    assert "SIDE_EFFECT_UNKNOWN" in tacho("--home", home, "signatures").out


def test_one_signature_names_its_runs(home: Path) -> None:
    """Named, it lists the runs that show it."""
    run_id = tacho("--home", home, "runs", "--json").result["runs"][1]["run_id"]
    assert run_id[:12] in tacho("--home", home, "signatures", "SIDE_EFFECT_UNKNOWN").out


def test_an_unknown_signature_is_refused(home: Path) -> None:
    """The message says which there are."""
    done = tacho("--home", home, "signatures", "NOPE")
    assert done.code == ExitCode.USAGE
    assert "'NOPE'" in done.err
    assert "SIDE_EFFECT_UNKNOWN" in done.err
