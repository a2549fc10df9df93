"""Bodies for people: tags turned into what a person expects to read."""

from __future__ import annotations

from typing import cast

import orjson

from tachograph.core.canonical._codecs import codec_named
from tachograph.core.canonical._json import JsonValue
from tachograph.core.canonical._untag import MALFORMED, untag

_ITEMS = ("$tuple", "$set", "$frozenset")
_VERBATIM = ("$decimal", "$uuid", "$datetime", "$date", "$time")


def display(data: bytes) -> JsonValue:
    """A body as plain JSON without tags: tuples and sets as lists, times and decimals as text, objects as their fields.

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
            return _object(cast("list[JsonValue]", content))
        return _scalar(tag, content)
    except MALFORMED:
        return {tag: content}


def _object(content: list[JsonValue]) -> JsonValue:
    """The fields of a value, a member as `Class.NAME`; under its codec's name what a codec wrote."""
    name, plain, *rest = content
    if type(name) is not str or len(rest) > 1:
        raise TypeError("not a name and what is written of a value")
    shown = _shown(plain)
    if codec_named(name) is not None or ":" not in name or type(shown) not in (dict, str, int):
        return {name: shown}
    if type(shown) is dict:
        return shown | _extra(rest)
    label = name.partition(":")[2]
    return f"{label}.{shown}" if type(shown) is str else f"{label}({shown})"


def _extra(rest: list[JsonValue]) -> dict[str, JsonValue]:
    about = _shown(rest[0]) if rest else None
    extra = about.get("extra") if type(about) is dict else None
    return extra if type(extra) is dict else {}


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
