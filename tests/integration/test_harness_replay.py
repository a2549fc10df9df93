"""A session is replayed like everybody's own loop: the assembly is the recorded one, and no plug-in is made."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import harness_fleet
from harness_support import call, calls
from public_runs import nothing
from tachograph.core.ports import ReplayOptions, ReplayResult
from tachograph.producers import Recorder
from tachograph.replay_workers import replay


def _assembly(directory: Path, name: str, **shop: object) -> Path:
    """An assembly in a file; JSON is YAML."""
    answers = [
        call("buy", '{"order": 1, "item": "teapot"}'),
        calls(("look", "{}", "a"), ("look", "{}", "b")),
        call("buy", '{"order": 2, "item": "nothing"}'),
        call("smash"),
        call("juggle"),
        "done",
    ]
    settings = {"trace": str(directory / "trace"), "assembly": str(directory / "desk.yaml"), **shop}
    path = directory / name
    path.write_text(
        json.dumps(
            {
                "plugins": {
                    "brain": {"use": "scripted", "settings": {"answers": answers}},
                    "shop": {"use": "shop", "settings": settings},
                    "garage": {"use": "nothing"},
                },
                "ports": {"model": "brain", "tools": ["shop", "garage"]},
            }
        )
    )
    return path


def _record(directory: Path) -> tuple[Path, str]:
    later = _assembly(directory, "later.yaml", shelf=["globe"])
    path = _assembly(directory, "desk.yaml", next=str(later))
    home = directory / "home"
    with Recorder(home) as recorder:
        assert asyncio.run(_awaited(recorder, str(path))) == "done"
        assert recorder.latest_run_id is not None
        return home, recorder.latest_run_id


async def _awaited(recorder: Recorder, path: str) -> str | None:
    return await recorder.record(harness_fleet.desk, path, "hello")


def _replayed(home: Path, run_id: str) -> ReplayResult:
    (result,) = replay(home, [run_id], ReplayOptions(), 1, nothing)
    return result


def test_a_replay_sees_the_recorded_assembly_and_makes_no_plugin(tmp_path: Path) -> None:
    """Reloads, broken plug-ins, refusals and unknown effects come again; nothing is made, nothing is read."""
    home, run_id = _record(tmp_path)
    trace = (tmp_path / "trace").read_text()
    assert trace.count("made") == 2, "the assembly changed on the way"
    (tmp_path / "desk.yaml").write_text("plugins: {}")
    verdict = _replayed(home, run_id).verdict
    assert verdict.first_divergence is None, verdict.first_divergence.sentence
    assert (verdict.status, verdict.control_flow, verdict.state) == ("reproduced",) * 3
    assert verdict.blocked == ()
    assert (tmp_path / "trace").read_text() == trace
    (tmp_path / "desk.yaml").unlink()
    assert _replayed(home, run_id).verdict.status == "reproduced"
