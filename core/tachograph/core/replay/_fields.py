"""Which fields of two payloads differ."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import TypeAlias, cast

from tachograph.core.canonical import JsonValue, display
from tachograph.core.replay._values import FieldChange

CHANGES_MAX = 20
"""Field changes kept by default: more than a screen of them helps nobody."""

VALUE_CHARACTERS_MAX = 240
"""A longer value is shown around its first difference."""

_LEAD = 60
"""Characters shown before the first difference of long values."""

_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


class _Absent:
    """There is no value on this side."""


_ABSENT = _Absent()

_Side: TypeAlias = "JsonValue | _Absent"


def field_changes(recorded: bytes, replayed: bytes, limit: int = CHANGES_MAX) -> tuple[FieldChange, ...]:
    """The first `limit` fields that differ, with their JSON paths; empty for equal payloads."""
    if recorded == replayed:
        return ()
    found = tuple(islice(_changes("$", shown_value(recorded), shown_value(replayed)), limit))
    return found or tuple(islice(_changes("$", _parsed(recorded), _parsed(replayed)), limit))


def show(payload: bytes, limit: int = VALUE_CHARACTERS_MAX) -> str:
    """A payload as JSON text of at most `limit` characters."""
    return shorten(text_of(shown_value(payload)), limit)


def shorten(text: str, limit: int) -> str:
    """The text, its middle left out where it is longer than `limit`."""
    if len(text) <= limit:
        return text
    tail = limit // 3
    return f"{text[: limit - tail - 1]}…{text[len(text) - tail :]}"


def shown_value(payload: bytes) -> JsonValue:
    """The payload as a person expects it, tags turned into plain values; text where it is not JSON."""
    try:
        return display(payload)
    except (ValueError, RecursionError):
        return payload.decode("utf-8", "replace")


def _parsed(payload: bytes) -> JsonValue:
    """The payload as it lies, tags and all."""
    try:
        return cast("JsonValue", json.loads(payload))
    except (ValueError, RecursionError):
        return payload.decode("utf-8", "replace")


def _changes(path: str, recorded: _Side, replayed: _Side) -> Iterator[FieldChange]:
    if isinstance(recorded, dict) and isinstance(replayed, dict):
        for name in sorted(recorded.keys() | replayed.keys()):
            yield from _changes(_member(path, name), recorded.get(name, _ABSENT), replayed.get(name, _ABSENT))
    elif isinstance(recorded, list) and isinstance(replayed, list):
        yield from _item_changes(path, recorded, replayed)
    elif type(recorded) is not type(replayed) or recorded != replayed:
        yield FieldChange(path, *_both(_side(recorded), _side(replayed)))


def _item_changes(path: str, recorded: list[JsonValue], replayed: list[JsonValue]) -> Iterator[FieldChange]:
    """Changes of list items; what is inserted or removed shows as such and does not shift what follows."""
    first, last = _common_ends(recorded, replayed)
    old, new = recorded[first : len(recorded) - last], replayed[first : len(replayed) - last]
    for index in range(max(len(old), len(new))):
        before: _Side = old[index] if index < len(old) else _ABSENT
        after: _Side = new[index] if index < len(new) else _ABSENT
        yield from _changes(f"{path}[{first + index}]", before, after)


def _common_ends(recorded: list[JsonValue], replayed: list[JsonValue]) -> tuple[int, int]:
    """How many items are equal at the start, and at the end of lists of different length."""
    shorter = min(len(recorded), len(replayed))
    first = 0
    while first < shorter and _same(recorded[first], replayed[first]):
        first += 1
    last = 0
    if len(recorded) != len(replayed):
        while last < shorter - first and _same(recorded[-1 - last], replayed[-1 - last]):
            last += 1
    return first, last


def _same(recorded: JsonValue, replayed: JsonValue) -> bool:
    return next(_changes("", recorded, replayed), None) is None


def _member(path: str, name: str) -> str:
    return f"{path}.{name}" if _PLAIN_NAME.match(name) else f"{path}[{json.dumps(name, ensure_ascii=False)}]"


def text_of(value: JsonValue) -> str:
    """A value as JSON text."""
    return json.dumps(value, ensure_ascii=False, separators=(", ", ": "))


def _side(value: _Side) -> str:
    return "" if isinstance(value, _Absent) else text_of(value)


def _both(recorded: str, replayed: str) -> tuple[str, str]:
    """Both texts, long ones cut to where they first differ."""
    if max(len(recorded), len(replayed)) <= VALUE_CHARACTERS_MAX:
        return recorded, replayed
    pairs = enumerate(zip(recorded, replayed, strict=False))
    first = next((index for index, (old, new) in pairs if old != new), min(len(recorded), len(replayed)))
    start = max(0, first - _LEAD)
    return _excerpt(recorded, start), _excerpt(replayed, start)


def _excerpt(text: str, start: int) -> str:
    end = start + VALUE_CHARACTERS_MAX
    return f"{'…' if start and text else ''}{text[start:end]}{'…' if len(text) > end else ''}"
