"""Rows of public runs are read into what they tell; a row that tells nothing usable is refused with a reason."""

from __future__ import annotations

import copy
import json
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
    tool_result,
    user,
)
from tachograph.core.causality import check_id
from tachograph.core.errors import UnreadableInput
from tachograph.producers.importers import UnusableRow
from tachograph.producers.importers._airline_rows import transcript_of
from tachograph.producers.importers._files import files_under, rows_of
from tachograph.producers.importers._who_rows import case_of


def test_a_conversation_is_turns_of_rounds() -> None:
    """Each user text with the model's answers to it; each tool call with its result."""
    transcript = transcript_of(BOOKING)
    assert [(turn.text, len(turn.answers), turn.answered) for turn in transcript.turns] == [
        ("book it", 4, True),
        ("Thanks ###STOP###", 0, False),
    ]
    assert [(each.call.name, each.result, each.refused) for each in transcript.executions] == [
        ("get_user_details", '{"name": "Mia"}', False),
        ("book_reservation", "Error: no seats", True),
        ("book_reservation", '{"reservation_id": "HATHAT"}', False),
    ]
    assert (transcript.task_id, transcript.trial, transcript.reward) == ("1", "0", 1.0)
    assert (transcript.system, transcript.instruction) == ("Be kind.", "You want to fly.")


def test_a_result_that_is_not_there_is_not_made_up() -> None:
    """A transcript may end within a call; what came back is then unknown."""
    (execution,) = transcript_of(CUT_OFF).executions
    assert execution.result is None
    assert not transcript_of(CUT_OFF).turns[-1].answered


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("hello", "it is str 'hello' in place of an object"),
        ({}, "traj is missing in place of a list"),
        ({"traj": []}, "traj is empty"),
        ({"traj": {"role": "user"}}, "traj is an object in place of a list"),
        ({"traj": ["hello"]}, r"traj\[0\] is str 'hello' in place of an object"),
        ({"traj": [{"content": "hello"}]}, r"traj\[0\].role is missing"),
        ({"traj": [{"role": "user", "content": ["x"]}]}, r"traj\[0\].content is list"),
        ({"traj": [{"role": "system", "content": "x"}]}, "no message is a user's"),
        (airline_row(user("a"), user("b")), "message 1 is the user's, but the one before is not answered yet"),
        (airline_row(assistant("a")), "message 0 is a model's answer that nothing asks for"),
        (airline_row(user("a"), assistant("b"), assistant("c")), "message 2 is a model's answer"),
        (airline_row(user("a"), {"role": "robot", "content": "b"}), "message 1 has the role 'robot'"),
        (
            airline_row(user("a"), tool_result("c9", "x"), assistant("b")),
            "the result of tool call 'c9' belongs to no call",
        ),
    ],
)
def test_a_row_without_a_walkable_conversation_is_refused(row: object, reason: str) -> None:
    """The reason names the message and what is wrong with it."""
    with pytest.raises(UnusableRow, match=reason):
        transcript_of(row)


def test_a_group_chat_reaches_everybody_and_an_orchestrator_whom_it_names() -> None:
    """Names speak to all others; roles such as `Orchestrator (-> WebSurfer)` to one; a thought to nobody."""
    chat = case_of(
        {"history": [{"name": "A", "content": "1"}, {"name": "B b", "content": "2"}, {"name": "C", "content": "3"}]}
    )
    assert [(said.speaker, said.to) for said in chat.steps] == [
        ("A", ("B_b", "C")), ("B_b", ("A", "C")), ("C", ("A", "B_b")),
    ]  # fmt: skip
    roles = ["human", "Boss (thought)", "Boss (-> Web)", "Web", "Boss (termination condition)"]
    led = case_of({"question": "q", "history": [{"role": role, "content": role} for role in roles]})
    assert [(said.speaker, said.to) for said in led.steps] == [
        ("human", ("Boss",)), ("Boss", ()), ("Boss", ("Web",)), ("Web", ("Boss",)), ("Boss", ()),
    ]  # fmt: skip
    assert led.agents == {"human": "human", "Boss": "Boss", "Web": "Web"}


def test_every_name_becomes_an_id_of_its_own() -> None:
    """Whatever people call their agents: ids are valid, different, and none is the root's."""
    names = ["run", "a b", "a/b", "../..", "你好", "x" * 300, "x" * 301, "a\nb", "", "A", "a"]
    case = case_of({"history": [{"name": name, "content": None} for name in names]})
    assert sorted(case.agents.values()) == sorted(set(names))
    assert "run" not in case.agents
    for agent_id in case.agents:
        check_id("agent id", agent_id)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({}, "history is missing"),
        ({"history": []}, "history is empty"),
        ({"history": [7]}, r"history\[0\] is int '7'"),
        ({"history": [{"content": "x"}]}, r"history\[0\] has neither a name nor a role"),
        ({"history": [{"name": 3, "content": "x"}]}, r"history\[0\].name is int"),
        ({"history": [{"name": "a", "content": {}}]}, r"history\[0\].content is an object"),
    ],
)
def test_a_case_without_a_history_is_refused(row: object, reason: str) -> None:
    """The reason names the entry and what is wrong with it."""
    with pytest.raises(UnusableRow, match=reason):
        case_of(row)


@pytest.mark.parametrize("step", ["one", "-1", "7", None, [], "2.5"])
def test_a_mistake_step_that_names_no_step_is_kept_as_a_fact_only(step: object) -> None:
    """Annotations are people's work: what cannot be placed is not placed, and not lost."""
    case = case_of({"history": [{"name": "a", "content": "x"}], "mistake_step": step})
    assert case.mistake_step is None
    assert case.facts["mistake_step"] == step


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "the file is empty"),
        (b" \n", "the file is empty"),
        (b"{not json", "it is not JSON"),
        (b"\xff\xfe", "it is not JSON"),
        (b'"text"', "it holds str in place of a list or an object"),
        (b"[" * 100_000, "it is not JSON"),
    ],
)
def test_a_file_that_is_no_json_is_unreadable(tmp_path: Path, content: bytes, reason: str) -> None:
    """The error names the file, the reason and what to give instead."""
    path = tmp_path / "runs.json"
    path.write_bytes(content)
    with pytest.raises(UnreadableInput, match=f"runs.json.*{reason}.*Give this"):
        rows_of(path, "Give this.")


def test_files_that_are_not_there_are_unreadable(tmp_path: Path) -> None:
    """A missing file, a directory in its place, and a directory without files each have their sentence."""
    with pytest.raises(UnreadableInput, match="No such file"):
        rows_of(tmp_path / "no.json", "Give one.")
    with pytest.raises(UnreadableInput, match="no .json file in this directory"):
        files_under([tmp_path])
    for name in ("10.json", "9.json", "a.json", "b.txt"):
        (tmp_path / name).write_text("{}")
    assert [path.name for path in files_under([tmp_path])] == ["a.json", "9.json", "10.json"]


@needs_public_runs
def test_the_public_rows_are_all_usable() -> None:
    """100 conversations and 92 histories; nothing that is in them is lost on the way."""
    rows = json.loads(AIRLINE.read_bytes())
    for row in rows:
        before = copy.deepcopy(row)
        transcript = transcript_of(row)
        assert row == before
        roles = [message["role"] for message in row["traj"]]
        assert roles.count("assistant") == sum(len(turn.answers) for turn in transcript.turns)
        assert roles.count("tool") == len([each for each in transcript.executions if each.result is not None])
    assert len(rows) == 100
    cases = [case_of(json.loads(path.read_bytes())) for path in files_under([WHO_AND_WHEN])]
    assert len(cases) == 92
    assert all(case.mistake_step is not None for case in cases)
