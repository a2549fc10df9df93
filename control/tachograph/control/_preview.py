"""Bodies in few characters."""

from __future__ import annotations

import json
from typing import cast

from tachograph.control._escape import clip, escape
from tachograph.core.canonical import display
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
    value = cast("object", display(data))
    if isinstance(value, dict):
        fields = cast("dict[str, object]", value)
        if fields.keys() == {"args", "kwargs"}:
            return _as_call(fields)
    return compact(cast("object", value))


def _as_call(arguments: dict[str, object]) -> str:
    positional = [compact(value) for value in cast("list[object]", arguments["args"])]
    named = [f"{name}={compact(value)}" for name, value in cast("dict[str, object]", arguments["kwargs"]).items()]
    return f"({', '.join(positional + named)})"


def compact(value: object) -> str:
    """JSON on one line."""
    return json.dumps(value, ensure_ascii=False, separators=(", ", ": "), default=str)
