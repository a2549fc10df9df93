"""`tacho demo` tells the incident, and each step of the story is so."""

from __future__ import annotations

from pathlib import Path
from time import monotonic

import pytest

from cli import Done, tacho
from tachograph.control import _demo
from tachograph.control._exit import ExitCode
from tachograph.core.ports import DemoResult

SECONDS_MAX = 60

Told = tuple[Done, Path, float]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Told:
    """The demo, run once: what it printed, its home, and how long it took."""
    home = tmp_path_factory.mktemp("demo") / "home"
    begun = monotonic()
    return tacho("--home", home, "demo"), home, monotonic() - begun


def test_every_step_is_as_told(told: Told) -> None:
    """Six numbered steps, exit code 0, within a minute."""
    done, _, seconds = told
    assert done.code == ExitCode.OK, done.out
    assert [line[0] for line in done.out.splitlines() if line[:2] in {f"{number}." for number in range(1, 10)}] == list(
        "123456"
    )
    assert "NOT AS TOLD" not in done.out
    assert seconds < SECONDS_MAX


def test_the_story_names_what_happened(told: Told) -> None:
    """Two mails, UNKNOWN, the signature, the replay, the refusal of the fix, the report: in plain words."""
    text = " ".join(told[0].out.split())
    for phrase in (
        "2 mails instead of one", "UNKNOWN", "SIDE_EFFECT_UNKNOWN_RETRY_DUPLICATE", "REPRODUCED", "0 sent out",
        "ReconciliationRequired", "report.html",
    ):  # fmt: skip
        assert phrase in text


def test_the_run_is_there_to_look_at(told: Told) -> None:
    """The commands that the demo ends with work on its home; the fork is a run of its own."""
    home = told[1]
    runs = tacho("--home", home, "runs", "--json").result["runs"]
    demo, fork = runs
    assert "SIDE_EFFECT_UNKNOWN_RETRY_DUPLICATE" in demo["signatures"]
    assert fork["parent_run_id"] == demo["run_id"]
    assert tacho("--home", home, "replay", demo["run_id"]).code == ExitCode.OK
    assert tacho("--home", home, "verify").code == ExitCode.OK


def test_a_step_that_is_not_as_told_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, told: Told) -> None:
    """One mail only: the step is marked, the others are told all the same, and the exit code is 1."""
    home = told[1]
    run_id = tacho("--home", home, "runs", "--json").result["runs"][0]["run_id"]
    monkeypatch.setattr(_demo, "demo_service", lambda: lambda *_: DemoResult(run_id, 1, {}))
    done = tacho("--home", home, "demo", "--json", "--report", tmp_path)
    assert done.code == ExitCode.DIFFERENT
    steps = done.result["steps"]
    assert [step["holds"] for step in steps] == [False, True, True, True, False, True]


def test_it_can_be_run_again(tmp_path: Path) -> None:
    """In the same home: each run handles a ticket of its own, since what was done for one is not done again."""
    for _ in range(2):
        done = tacho("--home", tmp_path, "demo", "--seed", "3")
        assert done.code == ExitCode.OK, done.out
    runs = tacho("--home", tmp_path, "runs", "--json").result["runs"]
    assert [run["status"] for run in runs] == ["FINISHED"] * 4
