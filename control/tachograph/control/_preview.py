"""Bodies in few characters."""

from __future__ import annotations

import json

from tachograph.control._escape import clip, escape
from tachograph.core.canonical import JsonValue, display
from tachograph.core.errors import EvidenceBroken
from tachograph.schemas import Body
from tachograph.stores import Home

CHARACTERS_MAX = 160
"""Wider than a usual terminal's text column; the screen clips further."""


class Previewer:
    """Shows bodies of one home; a body that is not there is said to be missing, and is no error."""

    def __init__(self, home: Home, characters_max: int = CHARACTERS_MAX) -> None:
        self._home = home
        self._characters_max = characters_max

    def __call__(self, body: Body, event_id: str) -> str:
        """A body, as compact JSON; call arguments as in a call."""
        try:
            data = self._home.body(body, event_id)
        except EvidenceBroken:
            return f"(body missing, {body.size} bytes)"
        return clip(escape(shown(data)), self._characters_max)


def shown(data: bytes) -> str:
    """A canonical body for a person."""
    value = display(data)
    if isinstance(value, dict) and value.keys() == {"args", "kwargs"}:
        return _as_call(value["args"], value["kwargs"])
    return compact(value)


def _as_call(positional: JsonValue, named: JsonValue) -> str:
    parts = [compact(value) for value in positional] if isinstance(positional, list) else [compact(positional)]
    if isinstance(named, dict):
        parts += [f"{name}={compact(value)}" for name, value in named.items()]
    return f"({', '.join(parts)})"


def compact(value: object) -> str:
    """JSON on one line."""
    return json.dumps(value, ensure_ascii=False, separators=(", ", ": "), default=str)
