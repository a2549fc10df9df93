"""Bodies for people: tags turned into what a person expects to read."""

from __future__ import annotations

from typing import cast

import orjson

from tachograph.core.canonical._json import JsonValue
from tachograph.core.canonical._untag import MALFORMED, untag

_ITEMS = ("$tuple", "$set", "$frozenset")
_VERBATIM = ("$decimal", "$uuid", "$datetime", "$date", "$time")


def display(data: bytes) -> JsonValue:
    """A body as plain JSON without tags: tuples and sets as lists, times and decimals as text.

    Meant for reading only: types are lost. What is not understood is shown as it lies; nothing is raised for it.

    Raises:
        ValueError: the bytes are not JSON.
    """
    value = cast("JsonValue", orjson.loads(data))
    try:
        return value if b'"$' not in data else _shown(value)
    except RecursionError:
        return value


def _shown(value: JsonValue) -> JsonValue:
    if type(value) is list:
        return [_shown(item) for item in value]
    if type(value) is not dict:
        return value
    if len(value) == 1:
        tag, content = next(iter(value.items()))
        if tag[:1] == "$":
            return _tagged(tag, content)
    return {key: _shown(item) for key, item in value.items()}


def _tagged(tag: str, content: JsonValue) -> JsonValue:
    if tag in _ITEMS or tag in _VERBATIM:
        return _shown(content)
    try:
        if tag == "$dict":
            return {_key(key): _shown(item) for key, item in cast("list[list[JsonValue]]", content)}
        if tag == "$object":
            name, plain = cast("list[JsonValue]", content)
            return {str(name): _shown(plain)}
        return _scalar(tag, content)
    except MALFORMED:
        return {tag: content}


def _key(key: JsonValue) -> str:
    shown = _shown(key)
    return shown if type(shown) is str else orjson.dumps(shown).decode()


def _scalar(tag: str, content: JsonValue) -> JsonValue:
    if tag == "$int" and "0x" in str(content):
        return content
    value = untag({tag: content})
    if isinstance(value, (bytes, bytearray)):
        return _text_of(bytes(value))
    if isinstance(value, float):
        return value if value - value == 0 else str(value)
    if isinstance(value, int):
        return value
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    return str(value)


def _text_of(value: bytes) -> str:
    try:
        text = value.decode()
    except UnicodeDecodeError:
        return f"{len(value)} bytes {value[:32].hex()}{'…' if len(value) > 32 else ''}"
    return text if text.isprintable() else ascii(text)[1:-1]
