"""Changed control logic: the first place where it leaves its recording is named, with both sides and what differs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from replays import Replays, asked, diverged, line_at, reproduced, sides
from tachograph.core.replay import DivergenceKind, explain
from tachograph.replay_workers._process import ReplayProcess

STEPS = """
def desk(run):
    with run.agent("clerk") as agent:
        agent.call(work, "one")
        agent.call(work, "two")
        agent.call(work, "three")
        agent.set_state("done", 3)
"""


@pytest.fixture(scope="module")
def process() -> Iterator[ReplayProcess]:
    """One replaying process for all tests: it forks a child per replay."""
    with ReplayProcess() as started:
        yield started


@pytest.fixture
def replays(tmp_path: Path, process: ReplayProcess) -> Replays:
    """A home of its own."""
    return Replays(tmp_path, process)


def test_an_inserted_step_is_named(replays: Replays) -> None:
    """It is the step that is new, not those behind it, that get their own results."""
    found = replays.changed(STEPS, ('agent.call(work, "two")', 'agent.call(work, "new"); agent.call(work, "two")'))
    assert sides(found) == (DivergenceKind.CALL_EXTRA, 2, "work", "work")
    assert (asked(found.recorded), asked(found.replayed)) == ("two", "new")
    assert found.replayed is not None
    assert found.replayed.where is not None
    assert 'work, "new"' in line_at(found.replayed.where)


def test_a_missing_step_is_named_where_it_is_missing(replays: Replays) -> None:
    """Not at the end of the run."""
    found = replays.changed(STEPS, ('agent.call(work, "two")', "pass"))
    assert sides(found) == (DivergenceKind.CALL_MISSING, 2, "work", "work")
    assert (asked(found.recorded), asked(found.replayed)) == ("two", "three")


def test_a_missing_last_step_is_named(replays: Replays) -> None:
    """An end that comes early is noticed at the end."""
    found = replays.changed(STEPS, ('agent.set_state("done", 3)', "pass"))
    assert sides(found) == (DivergenceKind.CALL_MISSING, 4, "done", "end")


def test_an_added_random_stream_blames_itself(replays: Replays) -> None:
    """Streams are named, so the draws of the others stay what they were, and so do the ids."""
    before = """
def desk(run):
    with run.agent("clerk") as agent:
        dice = agent.random("dice")
        agent.call(work, [dice.random(), agent.new_id()])
        agent.call(work, [dice.random(), agent.new_id()])
"""
    draw = "        agent.call(work, [dice.random(), agent.new_id()])\n"
    found = replays.changed(before, (draw * 2, f'{draw}        agent.random("more").random()\n{draw}'))
    assert (found.kind, found.step) == (DivergenceKind.CALL_EXTRA, 4)
    assert found.replayed is not None
    assert (found.replayed.kind, found.replayed.name) == ("random", "more")


def test_more_draws_from_a_recorded_stream_change_nothing_else(replays: Replays) -> None:
    """A stream's seed is recorded, not its draws."""
    before = """
def desk(run):
    with run.agent("clerk") as agent:
        dice, coin = agent.random("dice"), agent.random("coin")
        dice.random()
        agent.call(work, coin.random())
"""
    run_id = replays.record(before)
    reproduced(replays.replay(run_id, before.replace("        dice.random()\n", "        dice.random()\n" * 3)))


def test_an_argument_that_follows_from_the_clock_is_compared(replays: Replays) -> None:
    """Arguments are held against the recording, not only names."""
    before = """
from datetime import timedelta

def desk(run):
    with run.agent("clerk") as agent:
        agent.call(work, (agent.now() + timedelta(days=7)).isoformat())
"""
    found = replays.changed(before, ("days=7", "days=8"))
    assert sides(found) == (DivergenceKind.ARGUMENT_CHANGED, 2, "work", "work")
    assert [change.path for change in found.changes] == ["$.args[0]"]


def test_both_sides_are_told_apart_in_words(replays: Replays) -> None:
    """The sentence says which side is the recording; the full text has both with their arguments and places."""
    found = replays.changed(STEPS, ('"two"', '"deux"'))
    assert found.sentence == (
        """At step 2 of agent 'clerk' the recording calls work with $.args[0] = "two", the replay with "deux"."""
    )
    text = "\n".join(explain(found))
    assert '  recording  calls work("two")' in text
    assert '  replay     calls work("deux")' in text
    assert found.replayed is not None
    assert f"[{found.replayed.where}]" in text
    assert found.event_id is not None
    assert found.event_id in text


def test_the_same_request_gets_each_of_its_answers_once(replays: Replays) -> None:
    """A poll is answered as it was; asked once more than recorded, it is told that the answers are used up."""
    before = """
state = iter(["waiting", "waiting", "done"])

def poll():
    return next(state)

def desk(run):
    with run.agent("clerk") as agent:
        answers = [agent.call(poll) for _ in range(3)]
        agent.set_state("answers", answers)
"""
    run_id = replays.record(before)
    reproduced(replays.replay(run_id))
    found = diverged(replays.replay(run_id, before.replace("range(3)", "range(4)")))
    assert (found.kind, found.step, found.recorded_count, found.asked_count) == (DivergenceKind.EXHAUSTED, 4, 3, 4)
    assert "the recorded answers are used up" in found.sentence


@pytest.mark.parametrize("at", [0, 17, 39])
def test_which_of_forty_fields_differs(replays: Replays, at: int) -> None:
    """The field is named with both values."""
    before = """
def desk(run):
    with run.agent("clerk") as agent:
        agent.call(work, {f"field{index}": index for index in range(40)})
"""
    found = replays.changed(before, ("index for", f"index + (index == {at}) for"))
    (change,) = found.changes
    assert (change.path, change.recorded, change.replayed) == (f"$.args[0].field{at}", str(at), str(at + 1))


def test_the_nearest_recorded_step_is_a_candidate(replays: Replays) -> None:
    """Of an extra call the recorded ones that it resembles are shown, with what differs."""
    before = """
def desk(run):
    with run.agent("clerk") as agent:
        agent.call(work, {"to": "ada", "amount": 1, "memo": "x"})
        agent.call(work, {"to": "bob", "amount": 2, "memo": "y"})
        agent.call(work, "last")
"""
    extra = 'agent.call(work, {"to": "ada", "amount": 1, "memo": "z"}); '
    found = replays.changed(before, ('agent.call(work, "last")', extra + 'agent.call(work, "last")'))
    assert (found.kind, found.step) == (DivergenceKind.CALL_EXTRA, 3)
    nearest = found.candidates[0]
    assert nearest.step.number == 1
    assert [(one.path, one.recorded, one.replayed) for one in nearest.changes] == [("$.args[0].memo", '"x"', '"z"')]


def test_a_new_field_of_a_request_is_named_at_once(replays: Replays) -> None:
    """The replay does not wait for an answer that cannot come."""
    before = """
async def desk(run):
    async with run.agent("clerk") as agent:
        await asyncio.wait_for(agent.model(work, value={"prompt": "hello"}), 60)
        await asyncio.wait_for(agent.call(work, 1), 60)
"""
    found = replays.changed(before, ('"hello"', '"hello", "effort": "high"'))
    assert found.kind is DivergenceKind.ARGUMENT_CHANGED
    assert [(one.path, one.recorded) for one in found.changes] == [("$.kwargs.value.effort", "")]


def test_a_pure_reorder_is_said_to_be_one(replays: Replays) -> None:
    """The steps are the same, their order is not: that is no change of what is asked."""
    before = STEPS.replace('work, "three"', "str, 3")
    found = replays.changed(
        before, ('        agent.call(work, "one")\n        agent.call(work, "two")\n',
                 '        agent.call(work, "two")\n        agent.call(work, "one")\n')
    )  # fmt: skip
    assert (found.kind, found.step) == (DivergenceKind.REORDERED, 1)
    assert (asked(found.recorded), asked(found.replayed)) == ("one", "two")


def test_a_changed_state_diverges_in_state_and_nowhere_else(replays: Replays) -> None:
    """The levels of a verdict are told apart."""
    run_id = replays.record(STEPS)
    verdict = replays.replay(run_id, STEPS.replace('"done", 3', '"done", 4'))
    assert diverged(verdict).kind is DivergenceKind.STATE_CHANGED
    assert (verdict.control_flow, verdict.state) == ("reproduced", "diverged")


def test_a_changed_version_of_a_tool_is_named(replays: Replays) -> None:
    """The tool was asked the same, and is another one."""
    before = """
@tool(version="1")
def price(item):
    return 3

def desk(run):
    with run.agent("clerk") as agent:
        agent.call(price, "tea")
"""
    found = replays.changed(before, ('version="1"', 'version="2"'))
    assert sides(found) == (DivergenceKind.TOOL_CHANGED, 1, "price", "price")
    assert "'1'" in found.sentence
    assert "'2'" in found.sentence


def test_another_result_of_the_run_is_named(replays: Replays) -> None:
    """What control logic ends with is a step as well."""
    before = STEPS + "    return 'good'\n"
    found = replays.changed(before, ("'good'", "'bad'"))
    assert (found.kind, found.agent_id) == (DivergenceKind.OUTCOME_CHANGED, "run")
    assert '"good"' in found.sentence
    assert '"bad"' in found.sentence


def test_an_error_of_changed_control_logic_is_named(replays: Replays) -> None:
    """Control logic that fails where it did not says with what, and at which line."""
    found = replays.changed(
        STEPS, ('agent.call(work, "two")', "json.loads('{')"), ("def desk(", "import json\n\ndef desk(")
    )
    assert found.recorded is not None
    assert (found.step, asked(found.recorded)) == (2, "two")
    assert found.replayed is not None
    assert found.replayed.error_type == "json.decoder.JSONDecodeError"
    assert found.replayed.where is not None
    assert "json.loads" in line_at(found.replayed.where)
    assert f"[{found.replayed.where}]" in "\n".join(explain(found))


def test_each_agent_has_its_own_first_divergence(replays: Replays) -> None:
    """The first one in causal order is the verdict's; the other agents' are there as well."""
    before = """
def desk(run):
    with run.agent("ada") as ada, run.agent("bob") as bob:
        ada.call(work, "a")
        bob.call(work, "b")
        ada.call(work, "c")
"""
    run_id = replays.record(before)
    verdict = replays.replay(run_id, before.replace('"b"', '"B"').replace('"c"', '"C"'))
    assert diverged(verdict).agent_id == "bob"
    assert [found.agent_id for found in verdict.divergences] == ["bob", "ada"]


def test_a_new_agent_is_named(replays: Replays) -> None:
    """An agent that the recording does not have has no answers."""
    two = '        agent.call(work, "two")\n'
    opens = '        with agent.agent("helper") as helper:\n            helper.call(work, 1)\n'
    found = replays.changed(STEPS, (two, opens + two))
    assert found.replayed is not None
    assert (found.agent_id, found.step, found.replayed.kind, found.replayed.name) == ("clerk", 2, "agent", "helper")
