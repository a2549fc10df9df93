"""One change after the other, by hand: what kind of divergence it is and where."""

from __future__ import annotations

from dataclasses import replace

import pytest

from recorded_steps import Call, recording, replaying
from tachograph.core.replay import (
    Divergence,
    DivergenceKind,
    Fixture,
    Matcher,
    Mismatch,
    Step,
    UnrecordedInput,
    blame,
    compare,
)
from tachograph.schemas import CallOutcome

KINDS = {"t": "tool", "m": "model", "c": "clock", "r": "random", "s": "state", "x": "send"}


def calls(text: str) -> list[Call]:
    """`tf1 m0 sk2`: kind, name and argument of each step; `tf` is `tf0`."""
    parts = text.split()
    return [Call(KINDS[part[0]], part[1], int(part[2:] or 0)) for part in parts]


def diverged(recorded: str, replayed: str) -> Divergence:
    """Replay one against the other, as far as it goes."""
    matcher = Matcher(recording(calls(recorded)))
    for step in replaying(calls(replayed)):
        if isinstance(matcher.take(step), Mismatch):
            break
    found = matcher.divergence()
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("recorded", "replayed", "kind", "step"),
    [
        ("tf1 tg1 th1", "tf1 tg2 th1", "ARGUMENT_CHANGED", 2),
        ("tf1 tf2 tf3", "tf1 tf3 tf3", "ARGUMENT_CHANGED", 2),
        ("tf1 tf1 tf1 tg", "tf1 tf2 tf1 tg", "ARGUMENT_CHANGED", 2),
        ("xb1 tg", "xb2 tg", "ARGUMENT_CHANGED", 1),
        ("tf1 sk1 tg", "tf1 sk2 tg", "STATE_CHANGED", 2),
        ("tf1 tg1", "tf1 tn1", "CALL_EXTRA", 2),
        ("tf1 tg1 th1", "tf1 cx tg1 th1", "CALL_EXTRA", 2),
        ("tf1 sk1 sk2", "tf1 sk1 sk1 sk2", "CALL_EXTRA", 3),
        ("tf1 tg1 th1", "tg1 th1", "CALL_MISSING", 1),
        ("tf1 tf1 tg1", "tf1 tg1", "CALL_MISSING", 2),
        ("tf1 tg1 th1", "tf1", "CALL_MISSING", 2),
        ("tf1 tg1 th1", "tg1 tf1 th1", "REORDERED", 1),
        ("tf1 tf2 tf3 tg", "tf3 tf2 tf1 tg", "REORDERED", 1),
        ("tf1 tf2 tf3 tg", "tf2 tf3 tf1 tg", "REORDERED", 1),
        ("tf1 tf1 tg1", "tf1 tf1 tf1 tg1", "EXHAUSTED", 3),
        ("tf1 tg1 tf1 th", "tf1 tg1 tf1 tg1 th", "EXHAUSTED", 4),
    ],
)
def test_the_kind_and_place_of_a_change(recorded: str, replayed: str, kind: str, step: int) -> None:
    """Each of them once, with duplicates beside the change where these could mislead."""
    found = diverged(recorded, replayed)
    assert (found.kind, found.step) == (kind, step)


def test_a_change_that_runs_through_a_conversation() -> None:
    """A removed call changes every later prompt as well; still it is the missing call that is named."""
    recorded = "ta1 m1 tb1 m2 tc1 m3".replace("m", "mm")
    replayed = "m11 tb1 m12 tc1 m13".replace("m", "mm")
    found = diverged(recorded, replayed)
    assert (found.kind, found.step) == ("CALL_MISSING", 1)


def test_an_inserted_call_in_a_conversation() -> None:
    """An extra call of a known tool changes every later prompt; the extra call is named."""
    recorded = "mm1 tb1 mm2 tb2 mm3"
    replayed = "mm1 tb1 tb7 mm12 tb2 mm13"
    found = diverged(recorded, replayed)
    assert (found.kind, found.step) == ("CALL_EXTRA", 3)


def test_an_inserted_random_read_is_not_blamed_on_the_next_one() -> None:
    """Another random stream, drawn in between, is the extra step; the recorded one behind it still fits."""
    found = diverged("tf1 rs tg1", "tf1 rn rs tg1")
    assert (found.kind, found.step) == ("CALL_EXTRA", 2)
    assert found.replayed is not None
    assert found.replayed.name == "n"


def test_a_changed_argument_shows_the_field() -> None:
    """Both sides are there, and the one field that differs."""
    found = diverged("tf1", "tf2")
    (change,) = found.changes
    assert (change.path, change.recorded, change.replayed) == ("$.args[0]", "1", "2")
    assert found.event_id == "r1/billing#1.2"


def test_an_extra_call_shows_what_it_may_have_meant() -> None:
    """The recorded calls of the same tool, the nearest first."""
    found = diverged("tf1 tf2 tg1", "tf1 tf2 tf9 tg1")
    assert [candidate.step.number for candidate in found.candidates] == [2, 1]
    assert found.candidates[0].changes[0].replayed == "9"


def test_a_changed_call_that_is_another_recorded_one() -> None:
    """Where the changed call is closer to another recorded one than to the one in its place, that is shown."""
    found = diverged("tf1 tf2 tf3", "tf1 tf3 tf3")
    assert found.kind is DivergenceKind.ARGUMENT_CHANGED
    assert [(candidate.step.number, candidate.changes) for candidate in found.candidates] == [(3, ())]


READ = UnrecordedInput("time.time", "clock", "app.py", 12, "use agent.now()", "billing", 1)


def test_a_read_past_the_boundary_is_blamed_for_what_follows() -> None:
    """The changed step stays in the divergence; the read is its kind and its cause."""
    found = blame(diverged("tf1 tg1", "tf1 tg2"), [READ])
    assert found.kind is DivergenceKind.UNRECORDED_INPUT
    assert found.unrecorded == READ
    assert found.changes[0].path == "$.args[0]"
    assert "app.py:12" in found.sentence


def test_a_read_that_came_later_or_elsewhere_is_not_blamed() -> None:
    """A cause comes before its effect, in the same agent."""
    found = diverged("tf1 tg1", "tf1 tg2")
    assert blame(found, [replace(READ, after_step=2), replace(READ, agent_id="other")]) == found


def test_a_read_of_a_related_agent_is_blamed_where_the_agent_made_none() -> None:
    """What the entry point read went into the agent's first call; an own read comes first."""
    found = diverged("tf1 tg1", "tf1 tg2")
    elsewhere = replace(READ, agent_id="run", line=3)
    assert blame(found, [elsewhere]) == found
    blamed = blame(found, [elsewhere], {"run"})
    assert blamed.unrecorded == elsewhere
    assert "app.py:3; at step 2 of agent 'billing' the recording" in blamed.sentence
    assert blame(found, [READ, elsewhere], {"run"}).unrecorded == READ


def test_the_latest_read_is_blamed() -> None:
    """What was still as recorded after an early read clears that read."""
    late = replace(READ, after_step=1, line=99)
    found = blame(diverged("tf1 tg1", "tf1 tg2"), [replace(READ, after_step=0), late])
    assert found.unrecorded == late


def answers(text: str, *results: bytes) -> list[Step]:
    """Complete steps with these answers."""
    steps = recording(calls(text)).steps
    given = [replace(step, result=result, outcome=CallOutcome.OK) for step, result in zip(steps, results, strict=False)]
    return [*given, *steps[len(given) :]]


@pytest.mark.parametrize(("kind", "expected"), [("tf", "TOOL_CHANGED"), ("mf", "MODEL_DECISION_CHANGED")])
def test_another_answer_to_the_same_question(kind: str, expected: str) -> None:
    """When two runs are compared, the first changed answer is the divergence, not what followed from it."""
    found = compare(answers(f"{kind} tg1", b'{"n":1}', b"1"), answers(f"{kind} tg2", b'{"n":2}', b"1"), run_id="r1")
    assert found is not None
    assert (found.kind, found.step) == (expected, 1)
    assert "$.n is 1 in the recording and 2 in the replay" in found.sentence


def test_a_changed_answer_is_as_late_as_it_came() -> None:
    """What another agent was asked before may have been answered otherwise because of it."""
    one, other = answers("mf", b"1"), answers("mf", b"2")
    came = Fixture(CallOutcome.OK, b"1", hlc=one[0].hlc + 7)
    found = compare(one, other, fixtures=[came, None])
    assert found is not None
    assert found.hlc == came.hlc


def test_of_two_calls_that_are_out_the_one_answered_first_is_named() -> None:
    """And what was asked otherwise meanwhile comes before an answer that came only then."""
    one, other = answers("mf tg1 th1", b"1", b"1"), answers("mf tg1 th1", b"2", b"2")
    late, early = Fixture(CallOutcome.OK, b"1", hlc=one[2].hlc + 7), Fixture(CallOutcome.OK, b"1", hlc=one[1].hlc)
    found = compare(one, other, fixtures=[late, early, None, None])
    assert found is not None
    assert (found.kind, found.step) == (DivergenceKind.TOOL_CHANGED, 2)
    asked = compare(one, answers("mf tg2 th1", b"2", b"1"), fixtures=[late, early, None, None])
    assert asked is not None
    assert (asked.kind, asked.step) == (DivergenceKind.ARGUMENT_CHANGED, 2)


def test_another_time_alone_is_no_divergence() -> None:
    """Clock, random and id reads differ between any two runs."""
    assert compare(answers("cn tf1", b"1", b"1"), answers("cn tf1", b"2", b"1")) is None


def test_a_call_that_failed_this_time() -> None:
    """An error in place of an answer is a changed answer."""
    failed = replace(
        recording(calls("tf")).steps[0], result=None, outcome=CallOutcome.ERROR, error_type="builtins.OSError"
    )
    found = compare(answers("tf", b"1"), [failed, recording(calls("tf")).steps[1]])
    assert found is not None
    assert found.kind is DivergenceKind.TOOL_CHANGED


def test_comparing_with_a_stream_that_goes_on() -> None:
    """A stream that has not ended is held against as much as it has."""
    recorded = recording(calls("tf1 tg1")).steps
    assert compare(recorded, recorded[:1], complete=False) is None
    shorter = compare(recorded, recorded[:1])
    assert shorter is not None
    assert (shorter.kind, shorter.step) == (DivergenceKind.CALL_MISSING, 2)
    longer = compare(recorded[:1], recorded)
    assert longer is not None
    assert (longer.kind, longer.step) == (DivergenceKind.CALL_EXTRA, 2)


def test_another_result_at_the_end() -> None:
    """All steps alike, and another result of the whole."""
    one, other = recording(calls("tf1")).steps, list(recording(calls("tf1")).steps)
    other[-1] = replace(other[-1], key=b"other", arguments=b'{"outcome":"OK","result":7}')
    found = compare(one, other)
    assert found is not None
    assert (found.kind, found.step) == (DivergenceKind.OUTCOME_CHANGED, 2)
