"""A run's state, folded from its events."""

from __future__ import annotations

import pytest

from histories import RUN_ID, history
from history_parts import body
from schemas_support import payload_of
from tachograph.core.errors import UnsupportedSchema
from tachograph.core.state import (
    AgentState,
    Folding,
    RunState,
    Taken,
    empty,
    fold,
    replayability,
    state_bytes,
    state_from_bytes,
)
from tachograph.schemas import EffectState, EndOutcome, Event, Fidelity


def folded(text: str) -> RunState:
    """A history's state."""
    return folded_from(history(text))


def folded_from(events: list[Event]) -> RunState:
    """The state that events add up to."""
    state = empty(RUN_ID)
    for event in events:
        state = fold(state, event)
    return state


def agent(state: RunState, agent_id: str, incarnation: int = 1) -> AgentState:
    """One stream's part."""
    return state.agents[agent_id, incarnation]


WHOLE = (
    "run start refund; a open; b open in a; a model chat(1) = 'go'; a begin tool f(1); a send b 7; a state k = 1;"
    " a state k = 2; b wait; b receive 1; a back f = 3; a effect mail('ann') k1 UNKNOWN; a checkpoint half = 1;"
    " a artifact letter = 'x'; b unrecorded g(1) secret; a decide mail happened; b end; a end = 9; run end = 9; run freeze"
)


def test_a_run_from_start_to_end() -> None:
    """Status, names and outcome of the run and its agents."""
    state = folded(WHOLE)
    assert (state.name, state.tenant, state.status, state.outcome) == ("refund", "acme", "FINISHED", EndOutcome.OK)
    assert (state.frozen, state.events, state.entrypoint) == (True, len(history(WHOLE)), "histories:main")
    assert {key[0]: one.status for key, one in state.agents.items()} == {
        "run": "FINISHED",
        "a": "FINISHED",
        "b": "FINISHED",
    }
    assert (agent(state, "b").parent, agent(state, "b").role) == ("a", "b")


def test_a_run_in_the_middle() -> None:
    """What is open, set and under way is what the events so far left."""
    state = folded("run start; a open; b open; a begin tool f(1); a send b 7; a state k = 1; a state k = 2")
    assert [(call.kind, call.name) for call in agent(state, "a").open_calls.values()] == [("tool", "f")]
    assert agent(state, "a").values == {"k": body(2)}
    assert [(letter.from_agent_id, letter.to_agent_id) for letter in state.in_flight.values()] == [("a", "b")]
    assert (agent(state, "a").seq, agent(state, "a").calls) == (5, {"tool": 1})
    assert state.status == "RUNNING"


def test_a_message_that_arrived_is_no_longer_under_way() -> None:
    """Whichever of the two events was folded first."""
    events = history("run start; a open; b open; a send b 7; b receive 1")
    assert not folded_from(events).in_flight
    sending = next(event for event in events if event.meta.agent_id == "a" and event.meta.seq == 2)
    late = [event for event in events if event is not sending]
    assert state_bytes(folded_from([*late, sending])) == state_bytes(folded_from(events))


@pytest.mark.parametrize(
    ("end", "state"),
    [
        ("EXECUTING", EffectState.EXECUTING),
        ("CONFIRMED", EffectState.CONFIRMED),
        ("FAILED", EffectState.FAILED),
        ("UNKNOWN", EffectState.UNKNOWN),
        ("REFUSED", EffectState.FAILED),
    ],
)
def test_where_an_effect_stands(end: str, state: EffectState) -> None:
    """The ledger's moves are followed; a refused one never left."""
    (effect,) = folded(f"run start; a open; a effect mail('ann') k1 {end}").effects.values()
    assert (effect.state, effect.left) == (state, end != "REFUSED")
    assert (effect.effect_id, effect.name, effect.idempotency_key) == ("r1/a#1.2", "mail", "k1")


def test_an_effect_whose_ledger_event_is_lost() -> None:
    """The call's own end says where it stands."""
    events = history("run start; a open; a effect mail('ann') k1 UNKNOWN")
    assert next(iter(folded_from(events[:-1]).effects.values())).state is EffectState.UNKNOWN


@pytest.mark.parametrize(("answer", "state"), [("happened", EffectState.RECONCILED), ("not", EffectState.FAILED)])
def test_a_decision_counts_whenever_it_is_folded(answer: str, state: EffectState) -> None:
    """The decision is the later event, even where its stream is folded before the effect's."""
    events = history(f"run start; a open; a effect mail('ann') k1 UNKNOWN; reconciler decide mail {answer}")
    decision_first = sorted(events, key=lambda event: event.meta.agent_id != "reconciler")
    for order in (events, decision_first):
        (effect,) = folded_from(order).effects.values()
        assert (effect.state, effect.by) == (state, "person:ann")
        assert effect.decided_hlc > effect.unknown_hlc > 0


def test_what_is_folded_twice_counts_once() -> None:
    """An event at or below its stream's position changes nothing."""
    events = history(WHOLE)
    once = state_bytes(folded_from(events))
    assert state_bytes(folded_from([event for event in events for _ in range(2)])) == once
    assert state_bytes(folded_from([*events, *events])) == once


def test_a_gap_is_noted() -> None:
    """Missing events are named by their numbers."""
    events = history("run start; a open; a state k = 1; a state k = 2; a state k = 3; a end; run end")
    holed = [event for event in events if event.meta.agent_id != "a" or event.meta.seq not in (2, 3)]
    state = folded_from(holed)
    assert state.gaps == {("a", 1, 2, 3)}
    assert state_from_bytes(state_bytes(state)) == state
    assert any("events 2 to 3 are missing" in text for text in replayability(state).missing)


def test_bytes_give_the_state_back() -> None:
    """And folding goes on from it as from the state itself."""
    events = history(WHOLE)
    whole = state_bytes(folded_from(events))
    for cut in range(len(events) + 1):
        state = state_from_bytes(state_bytes(folded_from(events[:cut])))
        for event in events[cut:]:
            fold(state, event)
        assert state_bytes(state) == whole


def test_a_loop_goes_on_growing_after_a_cut() -> None:
    """A streak that is a loop already is the same streak in the state that is taken up again."""
    events = history("run start; a open" + "; a tool f(1) = 1" * 9)
    state = state_from_bytes(state_bytes(folded_from(events[:14])))
    for event in events[14:]:
        fold(state, event)
    assert [loop.count for loop in agent(state, "a").loops] == [9]


@pytest.mark.parametrize("data", [b"", b"{}", b"[]", b"null", b'{"format":2}', b'{"format":1,"state":{}}', b"\xff"])
def test_bytes_of_something_else(data: bytes) -> None:
    """They are refused by name, so that the caller folds the events again."""
    with pytest.raises(UnsupportedSchema, match="folded state"):
        state_from_bytes(data)


COMPLETE = "run start; a open; a tool f(1) = 1; a end; run end"


@pytest.mark.parametrize(
    ("text", "grade", "says"),
    [
        (COMPLETE, Fidelity.COMPLETE, ""),
        (COMPLETE.removesuffix("; run end"), Fidelity.TRUNCATED, "has no end"),
        ("run start; a open; a tool f(1) = 1; run end", Fidelity.TRUNCATED, "agent 'a' breaks off after event 3"),
        ("run start; b joins; b tool f(1) = 1; run end", Fidelity.TRUNCATED, "process of agent 'b' breaks off"),
        ("run start; a open; a unrecorded f(1) socket; a end; run end", Fidelity.CONTROL_FLOW, "not recorded: socket"),
        ("run start; run imported SPANS_ONLY a clock,receipts; run end", Fidelity.SPANS_ONLY, "does not carry a clock"),
        ("run start; run imported CONTROL_FLOW; run end", Fidelity.CONTROL_FLOW, ""),
        ("a open; a tool f(1) = 1", Fidelity.TRUNCATED, "first event is not there"),
        ("run start; run end; run erase 7", Fidelity.CONTROL_FLOW, "1 body was erased"),
    ],
)
def test_what_the_evidence_is_good_for(text: str, grade: Fidelity, says: str) -> None:
    """The grade is COMPLETE only where nothing is missing, and the reasons are told."""
    found = replayability(folded(text))
    assert found.grade is grade
    assert says in " ".join(found.missing)
    assert bool(found.missing) == bool(says)


def test_a_reconcilers_stream_needs_no_end() -> None:
    """Decisions made after the run do not make it incomplete."""
    text = "run start; a open; a effect mail('ann') k1 UNKNOWN; a end; run end; reconciler decide mail happened"
    assert replayability(folded(text)).grade is Fidelity.COMPLETE


def test_a_run_that_cannot_be_driven() -> None:
    """Without an entry point the answers are there, but not what asked for them."""
    events = history(COMPLETE)
    state = folded_from(events)
    state.entrypoint = None
    found = replayability(state)
    assert found.grade is Fidelity.TOOLS_ONLY
    assert "no importable entry point" in found.missing[0]


def test_a_process_that_cannot_be_driven() -> None:
    """A joined process has control logic of its own, which needs an entry point of its own."""
    state = folded("run start; b joins; b tool f(1) = 1; b end; run end")
    agent(state, "b").entrypoint = None
    found = replayability(state)
    assert found.grade is Fidelity.TOOLS_ONLY
    assert "process of agent 'b' has no importable entry point" in found.missing[0]


def test_many_unrecorded_results_are_counted() -> None:
    """Twenty are named, the rest is a number."""
    text = "run start; a open" + "; a unrecorded f(1) socket" * 25 + "; a end; run end"
    missing = replayability(folded(text)).missing
    assert len(missing) == 21
    assert missing[-1] == "5 more results were not recorded."


def test_an_optional_event_of_a_newer_release_keeps_its_place() -> None:
    """It is counted and its stream goes on behind it, without a gap."""
    events = history("run start; a open; a state k = 1; a state k = 2; a end; run end")
    unknown = next(event for event in events if event.meta.agent_id == "a" and event.meta.seq == 2)
    folding = Folding(empty(RUN_ID))
    for event in events:
        payload = payload_of(event)
        newer = b"\x00\x7f\xff\xff\xff" + payload[5:] if event is unknown else payload
        assert folding.add(newer) is Taken.FOLDED
    assert (folding.state.events, folding.state.skipped) == (len(events), 1)
    assert not folding.state.gaps
    assert folding.add(newer) is Taken.KNOWN


def test_an_event_that_must_not_be_skipped() -> None:
    """Stops the reader, and changes nothing."""
    (event,) = history("run start")
    folding = Folding(empty(RUN_ID))
    with pytest.raises(UnsupportedSchema):
        folding.add(b"\x00\x00\x00\xff\xff" + payload_of(event)[5:])
    assert folding.state == empty(RUN_ID)
