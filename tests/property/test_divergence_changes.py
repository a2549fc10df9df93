"""A recording with one change: the place and the class of the first divergence are those of the change.

Where one change cannot be told from another by anything that a replay shows, the answer is one of them. The canonical
ones: of equal steps in a row, the last is the extra or missing one; a call of which every recorded answer has been given
is EXHAUSTED; a step replaced by one of another name is CALL_EXTRA.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, assume, given, note, settings
from hypothesis import strategies as st

from recorded_steps import Call, recording, replaying
from tachograph.core.replay import Divergence, DivergenceKind, Matcher, Mismatch

CALLS = st.builds(
    Call,
    kind=st.sampled_from(["tool", "tool", "model", "clock", "random", "send", "state"]),
    name=st.sampled_from("abc"),
    argument=st.integers(0, 2),
)
RECORDINGS = st.lists(CALLS, min_size=1, max_size=40)
LONG_PERIODS = st.builds(
    lambda calls, times: calls * times, st.lists(CALLS, min_size=1, max_size=3), st.integers(2, 20)
)
EXAMPLES = 2_000 if os.environ.get("TACHO_NIGHTLY") == "1" else 100
SEEDED = settings(
    print_blob=True, max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.filter_too_much]
)

STATE = DivergenceKind.STATE_CHANGED
ARGUMENT = DivergenceKind.ARGUMENT_CHANGED
EXTRA, MISSING = DivergenceKind.CALL_EXTRA, DivergenceKind.CALL_MISSING
EXHAUSTED, REORDERED = DivergenceKind.EXHAUSTED, DivergenceKind.REORDERED


def drive(
    recorded: Sequence[Call], replayed: Sequence[Call], *, ends: bool = True
) -> tuple[Divergence, list[Call], bool]:
    """Replay; gives the divergence, the steps that were taken, and whether the replay came to its end."""
    matcher = Matcher(recording(recorded))
    taken: list[Call] = []
    for call, step in zip([*replayed, END], replaying(replayed), strict=True):
        if call is END and not ends:
            matcher.stall()
            break
        taken.append(call)
        if isinstance(matcher.take(step), Mismatch):
            break
    found = matcher.divergence()
    assert found is not None
    return found, taken, len(taken) == len(replayed) + 1


END = Call("end", "end", 0)


def first_difference(one: Sequence[Call], other: Sequence[Call]) -> int:
    """1-based."""
    pairs = enumerate(zip([*one, END], [*other, END], strict=False), 1)
    return next(number for number, (old, new) in pairs if old != new)


def explanations(recorded: Sequence[Call], taken: Sequence[Call], place: int, *, complete: bool) -> set[DivergenceKind]:
    """Every kind of single change that would show just what was seen."""
    rest, tail = [*recorded, END][place - 1 :], list(taken[place - 1 :])

    def shows(changed: Sequence[Call]) -> bool:
        return list(changed) == tail if complete else list(changed[: len(tail)]) == tail

    kinds: set[DivergenceKind] = set()
    here, now = rest[0], tail[0]
    if (here.kind, here.name) == (now.kind, now.name) and shows([now, *rest[1:]]):
        kinds.add(STATE if here.kind == "state" else ARGUMENT)
    if shows([now, *rest]):
        used_up = now in recorded[: place - 1] and now not in recorded[place - 1 :]
        kinds.add(EXHAUSTED if used_up and now.kind in ("tool", "model") else EXTRA)
    if shows(rest[1:]) or now is END:
        kinds.add(MISSING)
    for other in range(1, len(rest) - 1):
        if shows([rest[other], *rest[1:other], here, *rest[other + 1 :]]):
            kinds.add(REORDERED)
    return kinds


def check(recorded: Sequence[Call], replayed: Sequence[Call], kind: DivergenceKind) -> None:
    """The divergence is at the changed place, and of the changed kind or one that looks just the same."""
    assume(list(recorded) != list(replayed))
    found, taken, complete = drive(recorded, replayed)
    place = first_difference(recorded, replayed)
    possible = explanations(recorded, taken, place, complete=complete)
    note(f"{found.kind} at {found.step}; possible: {possible}")
    assert found.step == place
    assert found.kind in possible
    if kind in possible and len(possible) == 1:
        assert found.kind is kind


@SEEDED
@given(RECORDINGS | LONG_PERIODS, st.data())
def test_a_changed_argument(recorded: list[Call], data: st.DataObject) -> None:
    """One call has another argument, or one state another value."""
    index = data.draw(st.integers(0, len(recorded) - 1))
    changed = replace(recorded[index], argument=data.draw(st.integers(0, 5)))
    kind = STATE if changed.kind == "state" else ARGUMENT
    check(recorded, [*recorded[:index], changed, *recorded[index + 1 :]], kind)


@SEEDED
@given(RECORDINGS | LONG_PERIODS, st.data())
def test_an_inserted_step(recorded: list[Call], data: st.DataObject) -> None:
    """One step is done that the recording does not have there; it may be new or equal to others."""
    index = data.draw(st.integers(0, len(recorded)))
    inserted = data.draw(CALLS | st.just(Call("tool", "new", 7)))
    check(recorded, [*recorded[:index], inserted, *recorded[index:]], EXTRA)


@SEEDED
@given(RECORDINGS | LONG_PERIODS, st.data())
def test_a_removed_step(recorded: list[Call], data: st.DataObject) -> None:
    """One step is left out."""
    index = data.draw(st.integers(0, len(recorded) - 1))
    check(recorded, [*recorded[:index], *recorded[index + 1 :]], MISSING)


@SEEDED
@given(RECORDINGS | LONG_PERIODS, st.data())
def test_two_steps_swapped(recorded: list[Call], data: st.DataObject) -> None:
    """Two neighbours, or two steps that are not far from each other, change places."""
    assume(len(recorded) > 1)
    first = data.draw(st.integers(0, len(recorded) - 2))
    second = data.draw(st.integers(first + 1, min(len(recorded) - 1, first + 6)))
    swapped = list(recorded)
    swapped[first], swapped[second] = swapped[second], swapped[first]
    check(recorded, swapped, REORDERED)


@SEEDED
@given(RECORDINGS | LONG_PERIODS, st.data())
def test_an_early_end(recorded: list[Call], data: st.DataObject) -> None:
    """Control logic ends before the recording does."""
    index = data.draw(st.integers(0, len(recorded) - 1))
    found, _, _ = drive(recorded, recorded[:index])
    assert (found.kind, found.step) == (MISSING, index + 1)
    assert found.recorded is not None
    assert found.recorded.number == index + 1


@SEEDED
@given(RECORDINGS, st.data())
def test_a_replay_that_gets_stuck(recorded: list[Call], data: st.DataObject) -> None:
    """Control logic waits for ever: the next recorded step is missing."""
    index = data.draw(st.integers(0, len(recorded) - 1))
    found, _, _ = drive(recorded, recorded[:index], ends=False)
    assert (found.kind, found.step) == (MISSING, index + 1)


@SEEDED
@given(RECORDINGS, st.sampled_from(["clock", "random", "id"]), st.data())
def test_an_extra_read_is_blamed_itself(recorded: list[Call], kind: str, data: st.DataObject) -> None:
    """A clock, random or id read that the recording does not have there is the divergence, not what follows."""
    index = data.draw(st.integers(0, len(recorded)))
    read = Call(kind, "extra", 0)
    found, _, _ = drive(recorded, [*recorded[:index], read, *recorded[index:]])
    assert (found.kind, found.step) == (EXTRA, index + 1)
    assert found.replayed is not None
    assert found.replayed.name == "extra"


@SEEDED
@given(RECORDINGS)
def test_no_change_no_divergence(recorded: list[Call]) -> None:
    """The same steps match to the end."""
    matcher = Matcher(recording(recorded))
    for step in replaying(recorded):
        matcher.take(step)
    assert matcher.divergence() is None
    assert matcher.exhausted


@pytest.mark.parametrize("length", [1, 2, 5, 100, 1000])
def test_an_early_end_of_any_length(length: int) -> None:
    """However much of the recording is left when control logic ends, the first missing step is named."""
    recorded = [Call("tool", "a", number % 7) for number in range(length + 3)]
    found, _, _ = drive(recorded, recorded[:3])
    assert (found.kind, found.step) == (MISSING, 4)
