"""Findings: what they are keyed by, which of two stands, and what is made of a run."""

from __future__ import annotations

import orjson
import pytest

from histories import RUN_ID, history
from tachograph.core.errors import CorruptPayload, UnsupportedSchema
from tachograph.core.findings import (
    EffectFinding,
    Finding,
    RunFinding,
    RunStatus,
    SignatureFinding,
    finding_bytes,
    finding_of,
    findings_of,
    newer,
)
from tachograph.core.state import RunState, empty, fold
from tachograph.schemas import EffectState

STUCK = "run start; a open; a effect mail('ann') k1 EXECUTING"


def folded(text: str) -> RunState:
    """A history's state."""
    state = empty(RUN_ID)
    for event in history(text):
        fold(state, event)
    return state


def found(text: str, *, over: bool = False) -> list[Finding]:
    """What a history shows."""
    return list(findings_of(folded(text), over=over))


def run_of(findings: list[Finding]) -> RunFinding:
    """The one row among them, which comes last."""
    last = findings[-1]
    assert isinstance(last, RunFinding)
    assert not any(isinstance(finding, RunFinding) for finding in findings[:-1])
    return last


def test_a_run_that_goes_on() -> None:
    """Its row says so, and its effect is where its own events left it."""
    findings = found(STUCK)
    (effect,) = (finding for finding in findings if isinstance(finding, EffectFinding))
    run = run_of(findings)
    assert (run.row.status, run.row.effects, run.row.unknown_effects) == (RunStatus.RUNNING, 1, 0)
    assert (effect.row.state, effect.row.run_id, effect.row.agent_id) == (EffectState.EXECUTING, RUN_ID, "a")
    assert (effect.row.idempotency_key, effect.row.by) == ("k1", "recorder")
    assert effect.row.at_us == history(STUCK)[-1].meta.recorded_at_us
    assert not any(isinstance(finding, SignatureFinding) for finding in findings)


def test_a_run_that_is_over_without_an_end() -> None:
    """What was executing is UNKNOWN, the row is TRUNCATED, and the signatures of its end are told at its position."""
    findings = found(STUCK, over=True)
    run = run_of(findings)
    (effect,) = (finding for finding in findings if isinstance(finding, EffectFinding))
    signatures = [finding for finding in findings if isinstance(finding, SignatureFinding)]
    assert (run.row.status, run.row.unknown_effects) == (RunStatus.TRUNCATED, 1)
    assert effect.row.state is EffectState.UNKNOWN
    assert {signature.hit.name for signature in signatures} == set(run.row.signatures)
    assert {"AGENT_STUCK", "SIDE_EFFECT_UNKNOWN", "STREAM_TRUNCATED"} <= set(run.row.signatures)
    assert {signature.position for signature in signatures} == {run.position}


def test_what_is_over_stands_behind_what_went_on() -> None:
    """And an event that comes late after all stands behind both."""
    going, over, late = found(STUCK), found(STUCK, over=True), found(f"{STUCK}; a state k = 1")
    assert newer(run_of(over), run_of(going))
    assert newer(run_of(late), run_of(over))
    assert not newer(run_of(going), run_of(over))
    assert newer(over[0], going[0])
    assert newer(late[0], over[0])


def test_the_same_finding_is_not_newer() -> None:
    """Applying one twice changes nothing."""
    one, other = found(STUCK), found(STUCK)
    assert one == other
    assert not any(newer(left, right) for left, right in zip(one, other, strict=True))


def test_the_move_of_an_effect_that_came_last_stands() -> None:
    """A decision takes the place of UNKNOWN, whoever decided."""
    before = found("run start; a open; a effect mail('ann') k1 UNKNOWN")[0]
    after = found("run start; a open; a effect mail('ann') k1 UNKNOWN; reconciler decide mail happened")[0]
    assert newer(after, before)
    assert not newer(before, after)


def test_findings_of_other_keys_are_never_newer() -> None:
    """A row takes no effect's place."""
    findings = found(STUCK, over=True)
    assert len({finding.key for finding in findings}) == len(findings)
    assert not any(newer(one, other) for one in findings for other in findings)


def test_what_a_newer_release_wrote() -> None:
    """Another format and another kind are named."""
    document = orjson.loads(finding_bytes(found(STUCK)[0]))
    for change in ({"format": 2}, {"kind": "omen"}):
        with pytest.raises(UnsupportedSchema, match="2|omen"):
            finding_of(orjson.dumps(document | change))


@pytest.mark.parametrize(
    "data", [b"", b"[]", b"{}", b'{"format":1,"kind":"run"}', b'{"format":1,"kind":[],"finding":1}']
)
def test_what_is_no_finding(data: bytes) -> None:
    """Is refused as damaged."""
    with pytest.raises(CorruptPayload):
        finding_of(data)


@pytest.mark.parametrize(
    ("field", "value"),
    [("run_id", 7), ("agents", "7"), ("agents", True), ("missing", "text"), ("status", "ASLEEP"), ("extra", 1)],
)
def test_a_field_of_another_type(field: str, value: object) -> None:
    """A row is what its type says, or it is refused."""
    document = orjson.loads(finding_bytes(found(STUCK)[-1]))
    document["finding"]["row"][field] = value
    with pytest.raises(CorruptPayload):
        finding_of(orjson.dumps(document))


def test_only_the_effects_that_moved_are_told() -> None:
    """Beside those that may become UNKNOWN by the run's end; the row counts all of them."""
    state = folded("run start; a open; a effect mail('ann') k1 CONFIRMED; a effect mail('bob') k2 CONFIRMED")
    first, second = state.effects
    told = list(findings_of(state, over=False, effects={second}))
    assert [finding.row.effect_id for finding in told if isinstance(finding, EffectFinding)] == [second]
    assert run_of(told).row.effects == 2
    assert first != second
    pending = folded(STUCK)
    assert any(isinstance(finding, EffectFinding) for finding in findings_of(pending, over=True, effects=()))
