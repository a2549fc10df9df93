"""The matcher: strict in order, then looking ahead."""

from __future__ import annotations

from dataclasses import replace

import pytest

from recorded_steps import AGENT, Call, recording, replaying
from tachograph.core.replay import (
    LOOK_AHEAD_MAX,
    DivergenceKind,
    Frontier,
    Matcher,
    Mismatch,
    RecordingEnds,
    Served,
    StepMaker,
)

F, G, H = Call("tool", "f", 1), Call("tool", "g", 1), Call("tool", "h", 1)


def served(matcher: Matcher, calls: list[Call]) -> list[bytes | str | None]:
    """What each step of a replay is given: the answer, `-` for a step without one, None for a stop."""
    given: list[bytes | str | None] = []
    for step in replaying(calls):
        match = matcher.take(step)
        if not isinstance(match, Served):
            given.append(None)
            break
        given.append(match.fixture.result if match.fixture is not None else "-")
    return given


def test_the_same_call_asked_again_gets_the_next_answer() -> None:
    """Polling is given the recorded answers in order."""
    assert served(Matcher(recording([F, F, F])), [F, F, F]) == [b'"answer 1"', b'"answer 2"', b'"answer 3"', "-"]


def test_more_polling_than_recorded() -> None:
    """When the recorded answers are used up, the divergence says how often it was asked and how often recorded."""
    matcher = Matcher(recording([F, F, G]))
    assert served(matcher, [F, F, F])[-1] is None
    found = matcher.divergence()
    assert found is not None
    assert (found.kind, found.step) == (DivergenceKind.EXHAUSTED, 3)
    assert (found.recorded_count, found.asked_count) == (2, 3)


def test_swapped_answers_are_not_given_to_the_wrong_call() -> None:
    """In another order every call still gets its own answer, marked as tentative."""
    matcher = Matcher(recording([F, G, H]))
    assert served(matcher, [G, F, H]) == [b'"answer 2"', b'"answer 1"', b'"answer 3"', "-"]
    found = matcher.divergence()
    assert found is not None
    assert (found.kind, found.step) == (DivergenceKind.REORDERED, 1)


def test_behind_an_inserted_step_answers_do_not_shift() -> None:
    """An extra call is given the answer of a like one; what follows is given its own."""
    matcher = Matcher(recording([F, G, Call("tool", "f", 2), H]))
    given = served(matcher, [Call("tool", "f", 3), F, G, Call("tool", "f", 2), H])
    assert given[1:] == [b'"answer 1"', b'"answer 2"', b'"answer 3"', b'"answer 4"', "-"]
    assert matcher.position == 0


def test_an_unknown_call_stops_the_replay_there() -> None:
    """Nothing is made up for a call that the recording has nothing like."""
    matcher = Matcher(recording([F, G]))
    assert served(matcher, [F, Call("tool", "new")]) == [b'"answer 1"', None]
    found = matcher.divergence()
    assert found is not None
    assert (found.kind, found.step) == (DivergenceKind.CALL_EXTRA, 2)


def test_looking_ahead_ends() -> None:
    """A replay that has diverged is stopped after a bounded number of steps."""
    many = [Call("tool", "f", number) for number in range(100)]
    matcher = Matcher(recording(many))
    given = served(matcher, many[1:])
    assert len(given) == LOOK_AHEAD_MAX + 1
    assert given[-1] is None
    assert matcher.take(StepMaker(AGENT, 1).call("tool", "f", b"1")) == Mismatch()


def test_a_changed_payload_alone_does_not_end_the_comparison() -> None:
    """Where everything behind a change is as recorded, matching goes on strictly, and later changes are found, too."""
    calls = [Call("tool", "f", number) for number in range(60)]
    changed = [replace(call, argument=call.argument + 1000 * (index in (3, 40))) for index, call in enumerate(calls)]
    matcher = Matcher(recording(calls))
    assert None not in served(matcher, changed)
    assert [(found.kind, found.step) for found in matcher.divergences()] == [
        (DivergenceKind.ARGUMENT_CHANGED, 4),
        (DivergenceKind.ARGUMENT_CHANGED, 41),
    ]
    assert matcher.divergence() == matcher.divergences()[0]


def test_behind_a_changed_payload_every_call_gets_its_own_answer() -> None:
    """The changed call is given the answer in its place."""
    calls = [Call("tool", "f", number) for number in range(30)]
    changed = [replace(call, argument=call.argument + 1000 * (index == 3)) for index, call in enumerate(calls)]
    assert served(Matcher(recording(calls)), changed) == [b'"answer %d"' % number for number in range(1, 31)] + ["-"]


def test_the_same_call_over_and_over_may_be_one_more() -> None:
    """Where a changed and an extra call look the same for as far as one looks, nothing is claimed of what follows."""
    calls = [F] * 60
    assert served(Matcher(recording(calls)), [replace(F, argument=9), *calls])[-1] is None


def test_a_recording_that_breaks_off_is_no_divergence() -> None:
    """Behind the last recorded step nothing can be shown, neither that it is the same nor that it is not."""
    matcher = Matcher(recording([F, G], ended=False))
    steps = replaying([F, G, H])
    assert [type(matcher.take(step)) for step in steps[:3]] == [Served, Served, RecordingEnds]
    assert matcher.divergence() is None


def test_a_complete_recording_has_nothing_behind_its_end() -> None:
    """An agent that goes on where the recorded one ended does an extra step."""
    matcher = Matcher(recording([F]))
    assert served(matcher, [F, H])[-1] is None
    found = matcher.divergence()
    assert found is not None
    assert (found.kind, found.step) == (DivergenceKind.CALL_EXTRA, 2)


def test_a_stalled_replay_misses_the_next_step() -> None:
    """Who waits for ever leaves out what the recording goes on with."""
    matcher = Matcher(recording([F, G]))
    matcher.take(replaying([F])[0])
    matcher.stall()
    found = matcher.divergence()
    assert found is not None
    assert (found.kind, found.step, found.replayed) == (DivergenceKind.CALL_MISSING, 2, None)
    assert "does nothing more" in found.sentence


def test_stalling_at_the_end_is_nothing() -> None:
    """A replay that has taken every step has not stalled."""
    matcher = Matcher(recording([]))
    matcher.take(replaying([])[0])
    matcher.stall()
    assert matcher.divergence() is None


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("tool", DivergenceKind.TOOL_CHANGED),
        ("retrieval", DivergenceKind.TOOL_CHANGED),
        ("model", DivergenceKind.MODEL_DECISION_CHANGED),
        ("policy", DivergenceKind.POLICY_CHANGED),
        ("approval", DivergenceKind.POLICY_CHANGED),
    ],
)
def test_another_version_is_named_and_served(kind: str, expected: DivergenceKind) -> None:
    """The same call in another version is a divergence, and the replay goes on with the recorded answer."""
    matcher = Matcher(recording([Call(kind, "f"), G]))
    first, second, end = replaying([Call(kind, "f"), G])
    assert isinstance(matcher.take(replace(first, version="2")), Served)
    assert not matcher.diverged
    matcher.take(second)
    matcher.take(end)
    found = matcher.divergence()
    assert found is not None
    assert (found.kind, found.step) == (expected, 1)
    assert found.sentence.endswith("f without a version, the replay in version '2'.")


def test_the_earlier_of_two_divergences_counts() -> None:
    """A changed version before a changed argument is the first divergence."""
    matcher = Matcher(recording([F, G]))
    first, second, _ = replaying([F, Call("tool", "g", 9)])
    matcher.take(replace(first, version="2"))
    matcher.take(second)
    found = matcher.divergence()
    assert found is not None
    assert found.step == 1


def test_matchers_of_a_unit_share_how_far_it_came() -> None:
    """An extra step happens when it is done, not when its own stream was last seen."""
    frontier = Frontier()
    other = Matcher(recording([F, G, H]), frontier)
    for step in replaying([F, G]):
        if step.kind != "end":
            other.take(step)
    matcher = Matcher(recording([F, G]), frontier)
    matcher.take(replaying([H])[0])
    found = matcher.divergence()
    assert found is not None
    assert (found.kind, found.hlc) == (DivergenceKind.CALL_EXTRA, 200)
