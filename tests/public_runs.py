"""Where tests find the public runs, and small rows of the same shapes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
AIRLINE = _DATA / "airline_runs" / "gpt-4o-airline-tasks-00-24.json"
WHO_AND_WHEN = _DATA / "who_and_when"

needs_public_runs = pytest.mark.skipif(
    not (AIRLINE.exists() and WHO_AND_WHEN.is_dir()),
    reason="the public runs are not in ../shared/data, seen from the project's root",
)


def nothing(done: int, total: int, what: str) -> None:
    """Progress that nobody watches."""


def assistant(content: str | None = None, *calls: tuple[str, str, dict[str, object]]) -> dict[str, object]:
    """A model's message: text, or tool calls (id, name, arguments)."""
    message: dict[str, object] = {"role": "assistant", "content": content}
    if calls:
        message["tool_calls"] = [
            {"id": identity, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
            for identity, name, arguments in calls
        ]
    return message


def user(content: str) -> dict[str, object]:
    """A user's message."""
    return {"role": "user", "content": content}


def tool_result(identity: str, content: str) -> dict[str, object]:
    """A tool's message."""
    return {"role": "tool", "tool_call_id": identity, "name": "?", "content": content}


def airline_row(*messages: dict[str, object], task_id: int = 1) -> dict[str, object]:
    """A row of an airline file."""
    return {
        "task_id": task_id,
        "trial": 0,
        "reward": 1.0,
        "info": {"task": {"instruction": "You want to fly."}},
        "traj": [{"role": "system", "content": "Be kind."}, *messages],
    }


BOOKING = airline_row(
    user("book it"),
    assistant(None, ("c1", "get_user_details", {"user_id": "mia"})),
    tool_result("c1", '{"name": "Mia"}'),
    assistant(None, ("c2", "book_reservation", {"user_id": "mia"})),
    tool_result("c2", "Error: no seats"),
    assistant(None, ("c3", "book_reservation", {"user_id": "mia", "cabin": "economy"})),
    tool_result("c3", '{"reservation_id": "HATHAT"}'),
    assistant("It is booked."),
    user("Thanks ###STOP###"),
)
"""A conversation with a read, a refused write, a write, and an answer."""

CUT_OFF = airline_row(
    user("a person, please"),
    assistant("Why?"),
    user("because"),
    assistant(None, ("c1", "transfer_to_human_agents", {"summary": "insists"})),
)
"""A conversation that ends before its last tool's result."""
