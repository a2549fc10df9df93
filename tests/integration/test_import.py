"""Public runs are imported as recorded runs: graded honestly, once, and in spite of bad rows among the good ones."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from public_runs import (
    AIRLINE,
    BOOKING,
    CUT_OFF,
    WHO_AND_WHEN,
    airline_row,
    assistant,
    needs_public_runs,
    nothing,
    tool_result,
    user,
)
from recordings import check_run, payloads_of
from tachograph.core.canonical import decode_body
from tachograph.core.errors import UnreadableInput
from tachograph.core.ports import ImportResult
from tachograph.producers import Recorder
from tachograph.producers.importers import import_airline, import_who_and_when
from tachograph.producers.importers._known import import_id_of
from tachograph.schemas import (
    AgentFinished,
    CallFinished,
    CallOutcome,
    CallStarted,
    Checkpointed,
    EffectTransitioned,
    EndOutcome,
    Event,
    Fidelity,
    MessageSent,
    RunFinished,
    RunImported,
    RunStarted,
    StateChanged,
)
from tachograph.stores import Home


def write(path: Path, value: object) -> Path:
    """A JSON file."""
    path.write_text(json.dumps(value))
    return path


def run_of(home: Path, result: ImportResult, index: int = 0) -> list[Event]:
    """An imported run's events, its invariants checked."""
    return check_run(payloads_of(home, result.run_ids[index]))


def final_state(home: Path, events: list[Event]) -> dict[tuple[str, str], object]:
    """The last value of every key of every agent."""
    opened = Home.open(home)
    return {
        (event.meta.agent_id, event.key): decode_body(opened.body(event.value, "test"))
        for event in events
        if isinstance(event, StateChanged)
    }


def test_a_conversation_becomes_three_agents_with_effects(tmp_path: Path) -> None:
    """Messages between user, service and airline; writes as effects: confirmed by receipt, or failed by refusal."""
    home = tmp_path / "home"
    result = import_airline(home, [write(tmp_path / "runs.json", [BOOKING])], nothing)
    events = run_of(home, result)
    assert {event.meta.agent_id for event in events} == {"run", "user", "service", "airline"}
    started = next(event for event in events if isinstance(event, RunStarted))
    assert started.entrypoint == "tachograph.producers.importers:airline"
    assert started.name == "airline task 1 trial 0"
    names = {(event.meta.agent_id, event.meta.seq): event.name for event in events if isinstance(event, CallStarted)}
    writes = [event for event in events if isinstance(event, CallStarted) and event.effect == "write"]
    assert [event.name for event in writes] == ["book_reservation", "book_reservation"]
    outcomes = [
        (event.outcome, event.receipt is not None)
        for event in events
        if isinstance(event, CallFinished) and names[event.meta.agent_id, event.call_id] == "book_reservation"
    ]
    assert outcomes == [(CallOutcome.ERROR, False), (CallOutcome.OK, True)]
    last = {event.effect_id: event.to_state.value for event in events if isinstance(event, EffectTransitioned)}
    assert sorted(last.values()) == ["CONFIRMED", "FAILED"]
    state = final_state(home, events)
    assert state["service", "reward"] == 1.0
    assert state["service", "turns"] == 1
    assert state["airline", "calls"] == 3
    assert state["airline", "actions"] == [
        {"name": "book_reservation", "arguments": {"user_id": "mia"}, "done": False},
        {"name": "book_reservation", "arguments": {"user_id": "mia", "cabin": "economy"}, "done": True},
    ]
    assert all(event.outcome == EndOutcome.OK for event in events if isinstance(event, AgentFinished | RunFinished))


def test_the_conversation_in_the_record_is_the_one_in_the_file(tmp_path: Path) -> None:
    """The last snapshot of the service agent holds the transcript, message for message."""
    home = tmp_path / "home"
    result = import_airline(home, [write(tmp_path / "runs.json", [BOOKING])], nothing)
    snapshot = [event for event in run_of(home, result) if isinstance(event, Checkpointed)][-1]
    kept = decode_body(Home.open(home).body(snapshot.state, "test"))
    assert isinstance(kept, dict)
    told = BOOKING["traj"]
    assert isinstance(told, list)
    assert [(message["role"], message["content"]) for message in kept["messages"]] == [
        (message["role"], message["content"]) for message in told[:-1]
    ]


def test_a_transcript_that_ends_within_an_effect_leaves_it_unknown(tmp_path: Path) -> None:
    """Nobody knows whether it happened, so nothing else is written down."""
    home = tmp_path / "home"
    result = import_airline(home, [write(tmp_path / "runs.json", [CUT_OFF])], nothing)
    events = run_of(home, result)
    transitions = [event.to_state.value for event in events if isinstance(event, EffectTransitioned)]
    assert transitions == ["EXECUTING", "UNKNOWN"]


def test_strange_tool_calls_do_not_stop_an_import(tmp_path: Path) -> None:
    """Arguments that are not JSON are answered by the loop; results of parallel calls may stand in any order."""
    spoilt = assistant(None, ("c1", "calculate", {}))
    spoilt["tool_calls"][0]["function"]["arguments"] = "{oops"  # type: ignore[index]
    row = airline_row(
        user("go"),
        spoilt,
        tool_result("c1", "Error: not JSON"),
        assistant(None, ("c2", "think", {}), ("c3", "calculate", {"x": "1+1"})),
        tool_result("c3", "2.0"),
        tool_result("c2", ""),
        assistant("two"),
    )
    home = tmp_path / "home"
    events = run_of(home, import_airline(home, [write(tmp_path / "runs.json", [row])], nothing))
    names = [event.name for event in events if isinstance(event, CallStarted) and event.meta.agent_id == "airline"]
    assert [name for name in names if name in ("think", "calculate")] == ["think", "calculate"]
    snapshot = [event for event in events if isinstance(event, Checkpointed)][-1]
    kept = decode_body(Home.open(home).body(snapshot.state, "test"))
    assert isinstance(kept, dict)
    told = [message["content"] for message in kept["messages"] if message["role"] == "tool"]
    assert told[0].startswith("Error: the arguments are not JSON")
    assert told[1:] == ["", "2.0"]


def test_the_grade_is_honest_and_the_gaps_are_listed(tmp_path: Path) -> None:
    """A transcript has no clock, no receipts and no parameters; a history has less. Neither is called complete."""
    home = tmp_path / "home"
    history = {
        "question": "Why?",
        "history": [{"name": "A", "content": "hm"}, {"name": "B", "content": "ha"}],
        "mistake_step": "1",
        "mistake_agent": "B",
        "mistake_reason": "too short",
        "ground_truth": "42",
    }
    airline = import_airline(home, [write(tmp_path / "runs.json", [BOOKING])], nothing)
    who = import_who_and_when(home, [write(tmp_path / "1.json", history)], nothing)
    assert (airline.fidelity, who.fidelity) == ({"CONTROL_FLOW": 1}, {"SPANS_ONLY": 1})
    for result, grade, source in [
        (airline, Fidelity.CONTROL_FLOW, "airline"),
        (who, Fidelity.SPANS_ONLY, "who-and-when"),
    ]:
        events = run_of(home, result)
        imported = next(event for event in events if isinstance(event, RunImported))
        assert events.index(imported) == 1
        assert (imported.fidelity, imported.source) == (grade, source)
        assert any("clock" in gap for gap in imported.missing)
        assert any("receipts" in gap for gap in imported.missing)
    details = decode_body(Home.open(home).body(imported.details, "test"))  # type: ignore[arg-type]
    assert isinstance(details, dict)
    assert details["ground_truth"] == "42"
    assert (details["mistake_agent"], details["mistake_step"]) == ("B", "1")
    mistake = next(event for event in run_of(home, who) if isinstance(event, Checkpointed))
    assert (mistake.name, mistake.meta.agent_id) == ("annotated mistake", "B")


def test_bad_rows_are_named_and_the_good_ones_imported(tmp_path: Path) -> None:
    """Each sentence names the row and the reason; progress counts what is imported."""
    rows = [BOOKING, "hello", {"traj": []}, airline_row(user("a"), assistant("b"), task_id=2)]
    seen: list[tuple[int, int, str]] = []
    files = [write(tmp_path / "runs.json", rows), tmp_path / "gone.json"]
    result = import_airline(tmp_path / "home", files, lambda *step: seen.append(step))
    assert len(result.run_ids) == 2
    assert len(result.skipped) == 3
    assert result.skipped[0] == "runs.json row 1 is not imported: it is str 'hello' in place of an object."
    assert result.skipped[1] == "runs.json row 2 is not imported: traj is empty."
    assert "gone.json" in result.skipped[2]
    assert [done for done, _, _ in seen] == [0, 1, 2, 2]
    assert {total for _, total, _ in seen} == {2}
    assert {what for _, _, what in seen} == {"importing", "runs.json row 0", "runs.json row 3", "imported"}


@pytest.mark.parametrize("content", ["", "{oops", "42", "[]", '{"question": "q"}', '[{"traj": 3}]'])
def test_files_without_a_usable_row_are_an_error(tmp_path: Path, content: str) -> None:
    """Nothing imported at all is no success; the error names file, reason and remedy."""
    path = tmp_path / "runs.json"
    path.write_text(content)
    with pytest.raises(UnreadableInput, match=r"runs\.json.*Give"):
        import_airline(tmp_path / "home", [path], nothing)
    with pytest.raises(UnreadableInput, match=r"runs\.json.*Give"):
        import_who_and_when(tmp_path / "home", [path], nothing)


def test_a_row_is_imported_once_unless_asked_again(tmp_path: Path) -> None:
    """The same row, in whatever file, is reported as there already; run ids stay unguessable."""
    home, path = tmp_path / "home", write(tmp_path / "runs.json", [BOOKING, BOOKING])
    first = import_airline(home, [path], nothing)
    assert len(first.run_ids) == 1
    assert first.skipped == ("runs.json row 1 is here already, as run of runs.json row 0; --again imports it anew.",)
    second = import_airline(home, [write(tmp_path / "copy.json", BOOKING)], nothing)
    assert second.run_ids == ()
    assert second.skipped == (f"copy.json is here already, as run {first.run_ids[0]}; --again imports it anew.",)
    again = import_airline(home, [path], nothing, again=True)
    assert len(again.run_ids) == 1
    assert not set(again.run_ids) & set(first.run_ids)


@needs_public_runs
def test_the_public_conversations_import(tmp_path: Path) -> None:
    """Twenty of the airline runs: every write is an effect, none is left open, every stream ends well."""
    rows = json.loads(AIRLINE.read_bytes())[:20]
    home = tmp_path / "home"
    result = import_airline(home, [write(tmp_path / "runs.json", rows)], nothing)
    assert len(result.run_ids) == 20
    states: Counter[str] = Counter()
    for index, row in enumerate(rows):
        events = run_of(home, result, index)
        state = final_state(home, events)
        assert state["service", "reward"] == row["reward"]
        assert state["service", "rounds"] == sum(message["role"] == "assistant" for message in row["traj"])
        last = {event.effect_id: event.to_state.value for event in events if isinstance(event, EffectTransitioned)}
        states.update(last.values())
        assert all(event.outcome == EndOutcome.OK for event in events if isinstance(event, AgentFinished | RunFinished))
    assert set(states) == {"CONFIRMED", "FAILED"}


@needs_public_runs
def test_the_public_histories_import(tmp_path: Path) -> None:
    """All 92 of the Who&When set; none is graded complete, each keeps its annotated mistake in its place."""
    home = tmp_path / "home"
    result = import_who_and_when(home, [WHO_AND_WHEN], nothing)
    assert len(result.run_ids) == 92
    assert result.fidelity == {"SPANS_ONLY": 92}
    assert result.skipped == ()
    for index in range(0, 92, 7):
        events = run_of(home, result, index)
        assert any(isinstance(event, MessageSent) for event in events)
        mistakes = [event for event in events if isinstance(event, Checkpointed) and event.name == "annotated mistake"]
        assert len(mistakes) == 1


def test_what_a_crash_left_half_imported_is_imported_anew(tmp_path: Path) -> None:
    """Only a run that is there to its end counts as there."""
    home, path = tmp_path / "home", write(tmp_path / "runs.json", [BOOKING])
    details = {"import_id": import_id_of("airline", BOOKING)}
    with Recorder(home) as recorder:
        run = recorder.run("airline task 1 trial 0").__enter__()
        run.imported("airline", Fidelity.CONTROL_FLOW, [], details)
    assert len(import_airline(home, [path], nothing).run_ids) == 1
    assert len(import_airline(home, [path], nothing).run_ids) == 0
