"""Runs that earlier releases recorded are replayed for ever: reproduced by their code, and told from changed code."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from replays import Replays, diverged, evidence_bytes, reproduced, sides
from tachograph.core.replay import DivergenceKind
from tachograph.replay_workers._process import ReplayProcess
from tachograph.stores import verify_home

REPLAYS = Path(__file__).parent / "replays"
HOMES = sorted(path for path in REPLAYS.iterdir() if (path / "format.json").exists())
CODE = (REPLAYS / "golden_desk.py").read_text()

SERVED = {
    "approval": 1, "clock": 1, "id": 1, "memory": 1, "messages": 2, "model": 2, "policy": 1, "random": 1, "retrieval": 1,
    "tool": 6,
}  # fmt: skip

CHANGES = {
    "a comment": ('"""Every kind of step', '"""Each kind of step', None),
    "another order": (
        'await clerk.memory(values)\n    await clerk.policy(decided, policy_id="p", policy_version="1")',
        'await clerk.policy(decided, policy_id="p", policy_version="1")\n    await clerk.memory(values)',
        (DivergenceKind.REORDERED, "values", "decided"),
    ),
    "another version": ('@tool(version="3")', '@tool(version="4")', (DivergenceKind.TOOL_CHANGED, "price", "price")),
    "left out": ("    await clerk.memory(values)\n", "", (DivergenceKind.CALL_MISSING, "values", "decided")),
    "one more": (
        "    await clerk.memory(values)\n",
        "    await clerk.memory(found)\n    await clerk.memory(values)\n",
        (DivergenceKind.CALL_EXTRA, "values", "found"),
    ),
    "another question": ('"content": "?"', '"content": "!"', (DivergenceKind.ARGUMENT_CHANGED, "answer", "answer")),
    "another state": ("error.code, str(error)", "error.code, 0", (DivergenceKind.STATE_CHANGED, "refused", "refused")),
    "another message": ('"item": names[number]', '"item": None', (DivergenceKind.ARGUMENT_CHANGED, "buyer", "buyer")),
    "another end": ("bought = await asked", "raise Refusal(1)", (DivergenceKind.OUTCOME_CHANGED, "end", "end")),
    "the clock": (
        "[error.code, str(error)]", "[error.code, datetime.now(UTC)]", (DivergenceKind.UNRECORDED_INPUT, "refused", "refused")
    ),
}  # fmt: skip
"""What is changed in the code, to what, and what a replay says to it: kind, recorded and replayed step."""


@pytest.fixture(scope="module")
def process() -> Iterator[ReplayProcess]:
    """One replaying process for all tests: it forks a child per replay."""
    with ReplayProcess() as started:
        yield started


@pytest.fixture(params=HOMES, ids=lambda path: path.name)
def replays(request: pytest.FixtureRequest, tmp_path: Path, process: ReplayProcess) -> Replays:
    """A copy of a golden home: opening one makes a catalogue."""
    shutil.copytree(request.param, tmp_path / "home")
    return Replays(tmp_path, process)


def _run_of(replays: Replays) -> str:
    (run_id,) = replays.home.log.run_ids()
    return run_id


def test_there_is_a_golden_run() -> None:
    """Whoever changes what is recorded adds one."""
    assert "1" in {path.name for path in HOMES}


def test_it_is_reproduced(replays: Replays) -> None:
    """Every kind of step, by its own code, without a taint."""
    before = evidence_bytes(replays.path / "home")
    verdict = reproduced(replays.replay(_run_of(replays), code=str(REPLAYS)))
    assert verdict.served == SERVED
    assert (verdict.taints, verdict.blocked) == ((), ())
    assert evidence_bytes(replays.path / "home") == before


def test_it_verifies(replays: Replays) -> None:
    """Chain, digests and seals."""
    assert [finding for finding in verify_home(replays.home).findings if finding.severity == "damage"] == []


@pytest.mark.parametrize("name", CHANGES)
def test_changed_code_is_told(replays: Replays, name: str) -> None:
    """At the changed place, by its kind."""
    old, new, expected = CHANGES[name]
    assert CODE.count(old) == 1, old
    directory = replays.path / "code"
    directory.mkdir()
    (directory / "golden_desk.py").write_text(CODE.replace(old, new))
    verdict = replays.replay(_run_of(replays), code=str(directory))
    if expected is None:
        reproduced(verdict)
        return
    kind, _, recorded, replayed = sides(diverged(verdict))
    assert (kind, recorded, replayed) == expected
