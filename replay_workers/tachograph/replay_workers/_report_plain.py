"""Payload text made harmless: nothing that came from a run can steer a page, a terminal or a reader's eye."""

from __future__ import annotations

import json
import unicodedata

from tachograph.core.canonical import JsonValue, display

MARKS_MAX = 2
"""Combining marks in a row that are shown; languages need no more, and a tower of them covers its neighbours."""


def plain(text: str) -> str:
    """Text in which every control, format, bidirectional and surrogate character is spelled out.

    Spaces of any width become a space. Line breaks are spelled out, too: a value stays in its line.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(_flattened(text))


def plain_lines(text: str) -> str:
    """The same for text that was laid out here: its line breaks stay."""
    return "\n".join(plain(line) for line in text.split("\n"))


def clip(text: str, characters_max: int) -> str:
    """The text, cut to a number of characters with an ellipsis."""
    return text if len(text) <= characters_max else text[: max(characters_max - 1, 0)] + "…"


def payload_text(data: bytes, characters_max: int) -> str:
    """A canonical body on one line, harmless and clipped; a call's arguments as in a call."""
    value = _read(data)
    if isinstance(value, dict) and value.keys() == {"args", "kwargs"}:
        return clip(plain(_as_call(value["args"], value["kwargs"])), characters_max)
    return clip(plain(_compact(value)), characters_max)


def payload_block(data: bytes, characters_max: int) -> str:
    """A canonical body over several lines, harmless and clipped."""
    text = json.dumps(_read(data), ensure_ascii=False, indent=2)
    left_out = len(text) - characters_max
    shown = plain_lines(clip(text, characters_max))
    return shown if left_out <= 0 else f"{shown}\n({left_out:,} more characters)"


def _read(data: bytes) -> JsonValue:
    try:
        return display(data)
    except (ValueError, RecursionError):
        return data.decode("utf-8", "replace")


def _as_call(positional: JsonValue, named: JsonValue) -> str:
    parts = [_argument(value) for value in positional] if isinstance(positional, list) else [_argument(positional)]
    if isinstance(named, dict):
        parts += [f"{name}={_argument(value)}" for name, value in named.items()]
    return f"({', '.join(parts)})"


def _argument(value: JsonValue) -> str:
    """A conversation by its last message: the first says the same in every call."""
    if not isinstance(value, list) or len(value) < 2:
        return _compact(value)
    last = value[-1]
    if not isinstance(last, dict) or not all(isinstance(one, dict) and "role" in one for one in value):
        return _compact(value)
    return f"[{len(value)} messages, last {_compact(last['role'])}: {_compact(last.get('content'))}]"


def _compact(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(", ", ": "))


def _flattened(text: str) -> list[str]:
    shown: list[str] = []
    marks = 0
    for char in text:
        marks = marks + 1 if unicodedata.combining(char) else 0
        if marks > MARKS_MAX:
            shown.append(_spelled(char))
        elif char.isprintable():
            shown.append(char)
        else:
            shown.append(" " if unicodedata.category(char) == "Zs" else _spelled(char))
    return shown


def _spelled(char: str) -> str:
    return char.encode("unicode_escape", "surrogatepass").decode("ascii")
