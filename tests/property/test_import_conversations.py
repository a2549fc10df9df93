"""Whatever conversation a row tells, the import walks it message for message, and a replay walks it again."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from public_runs import airline_row, assistant, nothing, tool_result, user
from tachograph.core.canonical import decode_body, encode_body
from tachograph.core.ports import ReplayOptions
from tachograph.core.redaction import DEFAULT_POLICY
from tachograph.producers.importers import import_airline
from tachograph.replay_workers import replay
from tachograph.schemas import Checkpointed, EffectTransitioned, decode
from tachograph.stores import Home

Messages = list[dict[str, object]]

EXAMPLES = 100 if os.environ.get("TACHO_NIGHTLY") == "1" else 4

_TEXT = st.text(st.characters(codec="utf-8"), max_size=30) | st.sampled_from(
    ["###STOP###", "write to mia@example.com", "call +49 170 1234567", '{"password": "hunter2"}', ""]
)
_NAMES = st.sampled_from(["book_reservation", "get_user_details", "think", "send_certificate", "unheard_of"])
_ARGUMENTS = st.dictionaries(
    st.sampled_from(["user_id", "token", "amount", "name"]), _TEXT | st.integers(0, 9) | st.lists(_TEXT, max_size=2)
)
_RESULTS = _TEXT | st.sampled_from(["Error: no seats", '{"reservation_id": "HATHAT"}', "[]"])


@st.composite
def conversations(draw: st.DrawFn) -> Messages:
    """Turns of rounds of tool calls, cut off anywhere."""
    messages: Messages = []
    number = 0
    for _ in range(draw(st.integers(1, 3))):
        messages.append(user(draw(_TEXT)))
        for _ in range(draw(st.integers(0, 3))):
            calls = [(f"c{number + index}", draw(_NAMES), draw(_ARGUMENTS)) for index in range(draw(st.integers(1, 2)))]
            number += len(calls)
            messages.append(assistant(draw(st.none() | _TEXT), *calls))
            messages += [tool_result(identity, draw(_RESULTS)) for identity, _, _ in calls]
        messages.append(assistant(draw(_TEXT)))
    return messages[: draw(st.integers(1, len(messages)))]


@settings(print_blob=True, deadline=None, max_examples=EXAMPLES)
@given(st.lists(conversations(), min_size=4, max_size=8))
def test_conversations_are_walked_and_walked_again(rows: list[Messages]) -> None:
    """The service's conversation is the row's; nothing is left open; control flow and state are reproduced."""
    with tempfile.TemporaryDirectory() as directory:
        home = Path(directory) / "home"
        path = Path(directory) / "rows.json"
        path.write_text(json.dumps([airline_row(*row, task_id=number) for number, row in enumerate(rows)]))
        imported = import_airline(home, [path], nothing)
        assert len(imported.run_ids) == len(rows), imported.skipped
        for run_id, row in zip(imported.run_ids, rows, strict=True):
            _check(Home.open(home), run_id, row)
        for answer in replay(home, imported.run_ids, ReplayOptions(), 1, nothing):
            verdict = answer.verdict
            assert verdict.first_divergence is None, verdict.first_divergence.sentence
            assert (verdict.control_flow, verdict.state) == ("reproduced", "reproduced"), verdict
            assert not any(verdict.live.values())


def _check(home: Home, run_id: str, row: Messages) -> None:
    events = [decode(stored.payload) for stored in home.log.read_run(run_id)]
    (snapshot,) = [event for event in events if isinstance(event, Checkpointed)]
    kept = decode_body(home.body(snapshot.state, "test"))
    assert isinstance(kept, dict)
    answered = row[:-1] if row[-1]["role"] == "user" else row
    told = [{"role": "system", "content": "Be kind."}, *answered]
    recorded = [(message["role"], message.get("content")) for message in kept["messages"]]
    assert recorded[: len(told)] == [(message["role"], _redacted(home, message.get("content"))) for message in told], (
        "the record tells another conversation"
    )
    last = {event.effect_id: event.to_state.value for event in events if isinstance(event, EffectTransitioned)}
    assert set(last.values()) <= {"CONFIRMED", "FAILED", "UNKNOWN"}


def _redacted(home: Home, value: object) -> object:
    return decode_body(DEFAULT_POLICY.redact(encode_body(value), home.digester)[0])
