"""Imported runs are re-drivable: the loop walks the conversation again, answered by the recording alone."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from public_runs import AIRLINE, BOOKING, CUT_OFF, WHO_AND_WHEN, needs_public_runs, nothing
from tachograph.core.ports import ReplayOptions, ReplayResult
from tachograph.producers.importers import import_airline, import_who_and_when
from tachograph.replay_workers import replay


def _replayed(home: Path, run_ids: tuple[str, ...]) -> list[ReplayResult]:
    return list(replay(home, run_ids, ReplayOptions(), 2, nothing))


def test_a_replay_does_not_ask_the_transcript(tmp_path: Path) -> None:
    """Model, user and tools are served; a call that errs and one that never came back are, too."""
    path = tmp_path / "runs.json"
    path.write_text(json.dumps([BOOKING, CUT_OFF]))
    imported = import_airline(tmp_path / "home", [path], nothing)
    for result in _replayed(tmp_path / "home", imported.run_ids):
        verdict = result.verdict
        assert verdict.first_divergence is None, verdict.first_divergence.sentence
        assert (verdict.control_flow, verdict.state, verdict.fidelity) == ("reproduced", "reproduced", "CONTROL_FLOW")
        assert not any(verdict.live.values())
        assert verdict.missing, "what the source lacks limits what is proved"


@needs_public_runs
def test_every_airline_run_is_reproduced(tmp_path: Path) -> None:
    """100 of 100: control flow and state, no live call, and never more claimed than the grade allows."""
    imported = import_airline(tmp_path / "home", [AIRLINE], nothing)
    assert len(imported.run_ids) == 100
    results = _replayed(tmp_path / "home", imported.run_ids)
    levels = Counter((result.verdict.control_flow, result.verdict.state) for result in results)
    assert levels == {("reproduced", "reproduced"): 100}
    assert all(result.error is None and not any(result.verdict.live.values()) for result in results)
    assert {result.verdict.fidelity for result in results} == {"CONTROL_FLOW"}


@needs_public_runs
def test_every_history_is_walked_again(tmp_path: Path) -> None:
    """92 of 92 take the same steps; what a history proves stays limited."""
    imported = import_who_and_when(tmp_path / "home", [WHO_AND_WHEN], nothing)
    results = _replayed(tmp_path / "home", imported.run_ids)
    diverged = [result.verdict.first_divergence.sentence for result in results if result.verdict.first_divergence]
    assert diverged == []
    assert {result.verdict.control_flow for result in results} == {"reproduced"}
    assert {result.verdict.status for result in results} == {"limited"}
    assert {result.verdict.fidelity for result in results} == {"SPANS_ONLY"}
