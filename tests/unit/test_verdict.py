"""What a replay proved."""

from __future__ import annotations

from dataclasses import replace

import pytest

from recorded_steps import AGENT, Call, recording, replaying
from tachograph.core.errors import UnreadableInput
from tachograph.core.replay import (
    Divergence,
    DivergenceKind,
    UnitResult,
    UnrecordedInput,
    Verdict,
    VerdictStatus,
    sentence,
    verdict,
    verdict_from_json,
    verdict_json,
)
from tachograph.schemas import CallOutcome

READ = UnrecordedInput("time.time", "clock", "app.py", 12, "use agent.now()", AGENT, 3)


def found(
    kind: DivergenceKind, *, agent: str = AGENT, step: int = 1, hlc: int = 100, incarnation: int = 1
) -> Divergence:
    """A divergence."""
    return Divergence(kind, agent, incarnation, step, f"r1/{agent}#1.{step}", hlc, None, None)


def unit(*divergences: Divergence, **more: object) -> UnitResult:
    """A unit's result: 10 steps of one agent."""
    counts = {"steps_recorded": 10, "steps_replayed": 10, "agents": 1, "served": {"tool": 3}}
    return UnitResult(divergences, **{**counts, **more})  # type: ignore[arg-type]


def levels(given: Verdict) -> tuple[str, str, str]:
    """Control flow, state, content."""
    return given.control_flow, given.state, given.content


def test_reproduced() -> None:
    """Nothing differs and nothing is missing: proved on all three levels."""
    given = verdict([unit(), unit(served={"model": 2, "tool": 1})])
    assert given.status is VerdictStatus.REPRODUCED
    assert levels(given) == ("reproduced", "reproduced", "reproduced")
    assert (given.served, given.live) == ({"model": 2, "tool": 4}, {})
    assert (given.steps_recorded, given.steps_replayed, given.agents) == (20, 20, 2)
    assert given.first_divergence is None


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (DivergenceKind.CALL_EXTRA, ("diverged", "not_proved", "not_proved")),
        (DivergenceKind.CALL_MISSING, ("diverged", "not_proved", "not_proved")),
        (DivergenceKind.REORDERED, ("diverged", "not_proved", "not_proved")),
        (DivergenceKind.EXHAUSTED, ("diverged", "not_proved", "not_proved")),
        (DivergenceKind.UNRECORDED_INPUT, ("diverged", "not_proved", "not_proved")),
        (DivergenceKind.TOOL_CHANGED, ("not_proved", "not_proved", "diverged")),
        (DivergenceKind.ARGUMENT_CHANGED, ("reproduced", "reproduced", "diverged")),
        (DivergenceKind.STATE_CHANGED, ("reproduced", "diverged", "reproduced")),
        (DivergenceKind.OUTCOME_CHANGED, ("reproduced", "diverged", "reproduced")),
    ],
)
def test_the_level_of_each_kind(kind: DivergenceKind, expected: tuple[str, str, str]) -> None:
    """Behind a divergence that moves steps nothing was compared, so nothing is claimed there."""
    given = verdict([unit(found(kind))])
    assert given.status is VerdictStatus.DIVERGED
    assert levels(given) == expected


def test_a_replay_that_stopped_behind_a_change_proves_no_more() -> None:
    """All steps were alike up to the change and a little further; what came later was not seen."""
    given = verdict([unit(found(DivergenceKind.STATE_CHANGED), steps_replayed=8)])
    assert levels(given) == ("not_proved", "diverged", "not_proved")


def test_another_version_alone() -> None:
    """Every step is as recorded; what was called is not."""
    step = recording([Call("tool", "f", 1)]).steps[0]
    other = replace(found(DivergenceKind.TOOL_CHANGED), recorded=step, replayed=replace(step, version="2"))
    assert levels(verdict([unit(other)])) == ("reproduced", "reproduced", "diverged")


def test_a_change_put_down_to_a_read_keeps_its_level() -> None:
    """A state that a clock went into is a changed state, whatever it was put down to."""
    one, other = (replaying([Call("state", "at", number)])[0] for number in (1, 2))
    blamed = replace(found(DivergenceKind.UNRECORDED_INPUT), recorded=one, replayed=other, unrecorded=READ)
    assert levels(verdict([unit(blamed, blocked=(READ,))])) == ("reproduced", "diverged", "not_proved")


def test_a_call_that_ended_otherwise_is_control_flow() -> None:
    """Another outcome of a call is not another outcome of the whole."""
    step = recording([Call("tool", "f", 1)]).steps[0]
    ended = replace(
        found(DivergenceKind.OUTCOME_CHANGED), recorded=step, replayed=replace(step, outcome=CallOutcome.CANCELLED)
    )
    assert levels(verdict([unit(ended)])) == ("diverged", "reproduced", "reproduced")
    assert sentence(ended) == (
        "At step 1 of agent 'billing' both call f(1); in the recording it ends OK, in the replay CANCELLED."
    )


def test_the_first_divergence_is_the_first_in_causal_order() -> None:
    """Over all agents and units the lowest clock counts, whatever the order in which they were found."""
    late = found(DivergenceKind.CALL_EXTRA, agent="a", hlc=300)
    early = found(DivergenceKind.ARGUMENT_CHANGED, agent="b", hlc=200)
    given = verdict([unit(late), unit(early)])
    assert given.first_divergence == early
    assert given.divergences == (early, late)


def test_one_divergence_for_each_stream() -> None:
    """Of several in one stream the earliest step counts; two lives of an agent are two streams."""
    first = found(DivergenceKind.STATE_CHANGED, step=2, hlc=20)
    second = found(DivergenceKind.STATE_CHANGED, step=5, hlc=50)
    other_life = found(DivergenceKind.STATE_CHANGED, step=9, hlc=90, incarnation=2)
    assert verdict([unit(second, first, other_life)]).divergences == (first, other_life)


def test_missing_evidence_is_never_reproduced() -> None:
    """The list makes it LIMITED; what was shown on each level still stands."""
    given = verdict([unit(missing=("The body of event 7 is gone.",))], missing=["No end."])
    assert given.status is VerdictStatus.LIMITED
    assert given.missing == ("No end.", "The body of event 7 is gone.")


def test_a_divergence_counts_where_other_evidence_is_missing() -> None:
    """What differs differs in evidence that is there."""
    given = verdict([unit(found(DivergenceKind.CALL_EXTRA))], missing=["No end."])
    assert given.status is VerdictStatus.DIVERGED


def test_a_unit_that_was_not_driven_proves_nothing() -> None:
    """No level is claimed for a run of which a part could not be driven."""
    given = verdict([unit(), unit(driven=False, missing=("The entry point is gone.",))])
    assert given.status is VerdictStatus.LIMITED
    assert levels(given) == ("not_proved", "not_proved", "not_proved")


def test_steps_that_were_not_reached_are_missing() -> None:
    """A replay that did less than the recording, and no divergence to show for it, is no proof."""
    given = verdict([unit(steps_replayed=9)])
    assert given.status is VerdictStatus.LIMITED
    assert given.missing == ("Only 9 of 10 recorded steps of a unit were replayed.",)


def test_no_unit_at_all_proves_nothing() -> None:
    """An empty replay is no proof."""
    given = verdict([], missing=["No entry point."])
    assert levels(given) == ("not_proved", "not_proved", "not_proved")
    assert given.status is VerdictStatus.LIMITED
    assert verdict([]).status is VerdictStatus.LIMITED


def test_a_read_past_the_boundary_without_consequence_is_limited() -> None:
    """Every step was as recorded, by luck: the read is named, content is not proved."""
    given = verdict([unit(blocked=(READ, READ))])
    assert given.status is VerdictStatus.LIMITED
    assert given.blocked == (READ,)
    assert levels(given) == ("reproduced", "reproduced", "not_proved")
    first = given.first_divergence
    assert first is not None
    assert (first.kind, first.unrecorded, first.step) == (DivergenceKind.UNRECORDED_INPUT, READ, 4)
    assert "app.py:12" in first.sentence


@pytest.mark.parametrize(
    ("fidelity", "expected"),
    [
        ("CONTROL_FLOW", ("reproduced", "reproduced", "not_proved")),
        ("TRUNCATED", ("reproduced", "not_proved", "not_proved")),
        ("TOOLS_ONLY", ("reproduced", "not_proved", "not_proved")),
        ("SPANS_ONLY", ("reproduced", "not_proved", "not_proved")),
        ("?", ("not_proved", "not_proved", "not_proved")),
    ],
)
def test_fidelity_caps_what_can_be_proved(fidelity: str, expected: tuple[str, str, str]) -> None:
    """Evidence of a lower grade is never reproduced as a whole, and only some levels can be proved from it."""
    given = verdict([unit()], fidelity=fidelity)
    assert given.status is VerdictStatus.LIMITED
    assert levels(given) == expected


def test_taints_are_kept_once_each() -> None:
    """The same sentence from several units stands once."""
    given = verdict([unit(taints=("A token was given.",)), unit(taints=("A token was given.",))], taints=["Upcast."])
    assert given.taints == ("Upcast.", "A token was given.")


def test_json_gives_the_verdict_back() -> None:
    """Steps, changes, candidates and reads included."""
    from tachograph.core.replay import Matcher, Mismatch, blame

    matcher = Matcher(recording([Call("tool", "f", 1), Call("tool", "f", 2)]))
    for step in replaying([Call("tool", "f", 1), Call("tool", "f", 3), Call("tool", "n")]):
        if isinstance(matcher.take(step), Mismatch):
            break
    changed = matcher.divergence()
    assert changed is not None
    given = verdict([unit(blame(changed, [READ]), changed, blocked=(READ,))], recorded_code="abc", taints=["t"])
    assert verdict_from_json(verdict_json(given)) == given


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("status", "fine"),
        ("status", None),
        ("levels", []),
        ("agents", "7"),
        ("agents", True),
        ("divergences", {}),
        ("divergences", [7]),
        ("first_divergence", {"kind": "ODD"}),
        ("served", {"tool": "many"}),
    ],
)
def test_json_that_is_no_verdict(path: str, value: object) -> None:
    """The error names the member."""
    broken = verdict_json(verdict([unit()]))
    broken[path] = value  # type: ignore[assignment]
    with pytest.raises(UnreadableInput, match=path):
        verdict_from_json(broken)


def test_json_that_is_no_object() -> None:
    """Neither is a list."""
    with pytest.raises(UnreadableInput, match="not an object"):
        verdict_from_json([])
