"""Reading what a model answered."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import cast
from uuid import UUID

from tachograph.producers.harness._ports import Message
from tachograph.producers.harness._shapes import as_items, as_mapping, as_text, no_fields


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One tool call that a model asks for."""

    id: str
    name: str
    arguments: Mapping[str, object] = field(default_factory=no_fields)
    fault: str | None = None
    """Why it cannot be executed, when the model wrote something else than a call."""


def tool_calls_of(answer: Message) -> tuple[ToolCall, ...]:
    """The tool calls in an assistant message."""
    calls = as_items(answer.get("tool_calls")) or ()
    return tuple(_call(index, call) for index, call in enumerate(calls))


def text_of(answer: Message) -> str:
    """The text of a message."""
    return as_text(answer.get("content")) or ""


def spoken(answer: Message) -> dict[str, object]:
    """What of an answer belongs into the conversation: not its usage or stop reason."""
    return {"role": "assistant", **{key: answer[key] for key in ("content", "tool_calls") if key in answer}}


def tool_message(call: ToolCall, content: str) -> dict[str, object]:
    """The message that gives the model a tool's result."""
    return {"role": "tool", "tool_call_id": call.id, "name": call.name, "content": content}


def result_text(value: object) -> str:
    """A tool's result as a model reads it: text as it is, everything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=_plain)


def _call(index: int, call: object) -> ToolCall:
    fields = as_mapping(call) or {}
    function = as_mapping(fields.get("function"))
    if function is None:
        return ToolCall(f"call-{index}", "?", fault=f"this is not a tool call: {call!r}")
    identity, name = str(fields.get("id", f"call-{index}")), str(function.get("name", "?"))
    arguments, fault = _arguments(function.get("arguments"))
    return ToolCall(identity, name, arguments, fault)


def _arguments(given: object) -> tuple[Mapping[str, object], str | None]:
    if isinstance(given, str):
        try:
            given = json.loads(given) if given.strip() else {}
        except ValueError as error:
            return {}, f"the arguments are not JSON: {error}"
    arguments = as_mapping(given)
    return (arguments, None) if arguments is not None else ({}, "the arguments are not a JSON object")


def _plain(value: object) -> object:
    fields = as_mapping(value)
    if fields is not None:
        return dict(fields)
    if isinstance(value, set | frozenset):
        return sorted(cast("set[object]", value), key=str)
    if isinstance(value, date | Decimal | UUID):
        return str(value)
    return f"({type(value).__name__})"
