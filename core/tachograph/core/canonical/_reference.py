"""RFC 8785 as the text says it: slow and plain. The fast paths are tested against it and fall back to it."""

from __future__ import annotations

import unicodedata
from math import isfinite

from tachograph.core.canonical._json import DEPTH_MAX, INTEGER_MAX, JsonValue
from tachograph.core.canonical._refusal import Refusal, member

_SHORT = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}


def serialise(value: JsonValue, levels: int = DEPTH_MAX) -> str:
    """Canonical text of a JSON value at most `levels` deep, strings in NFC.

    Raises:
        Refusal: the value is not JSON.
    """
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int() | float() | str():
            return _scalar(value)
        case list() | dict():
            return _container(value, levels)
    raise Refusal(value, "it is not JSON")


def _scalar(value: float | str) -> str:
    if type(value) is str:
        return quote(value)
    if type(value) is int:
        return _integer(value)
    if type(value) is float:
        return number(value)
    raise Refusal(value, "it is not JSON")


def _container(value: list[JsonValue] | dict[str, JsonValue], levels: int) -> str:
    if levels == 0 and value:
        raise Refusal(value, f"it lies more than {DEPTH_MAX} levels deep, or contains itself")
    if type(value) is list:
        return "[" + ",".join(_item(index, item, levels - 1) for index, item in enumerate(value)) + "]"
    if type(value) is dict:
        return _object(value, levels - 1)
    raise Refusal(value, "it is not JSON")


def _item(index: int, value: JsonValue, levels: int) -> str:
    try:
        return serialise(value, levels)
    except Refusal as refusal:
        raise refusal.under(f"[{index}]") from None


def _object(value: dict[str, JsonValue], levels: int) -> str:
    members: dict[str, str] = {}
    for key, item in value.items():
        if type(key) is not str:
            raise Refusal(key, "a key of JSON is a string")
        name = unicodedata.normalize("NFC", key)
        if name in members:
            raise Refusal(key, "two keys are the same in Unicode's normal form C").under(member(key))
        try:
            members[name] = serialise(item, levels)
        except Refusal as refusal:
            raise refusal.under(member(key)) from None
    return "{" + ",".join(f"{quote(name)}:{members[name]}" for name in sorted(members, key=_utf16)) + "}"


def _utf16(text: str) -> bytes:
    return text.encode("utf-16-be", "surrogatepass")


def quote(text: str) -> str:
    """A JSON string in NFC (RFC 8785, section 3.2.2.2)."""
    text = unicodedata.normalize("NFC", text)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise Refusal(text, "it holds half of a surrogate pair") from None
    return '"' + "".join(_character(character) for character in text) + '"'


def _character(character: str) -> str:
    if character in _SHORT:
        return _SHORT[character]
    return f"\\u{ord(character):04x}" if character < " " else character


def _integer(value: int) -> str:
    if abs(value) > INTEGER_MAX:
        raise Refusal(value, "an integer of JSON lies within 2**53 - 1")
    return str(value)


def number(value: float) -> str:
    """A double as ECMAScript's `Number::toString` writes it (RFC 8785, section 3.2.2.3)."""
    if not isfinite(value):
        raise Refusal(value, "JSON has neither NaN nor infinity")
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    digits, point = _digits(abs(value))
    return sign + _place(digits, point)


def _digits(value: float) -> tuple[str, int]:
    """The shortest digits that round-trip, and where the decimal point stands behind them: 0.digits * 10**point."""
    mantissa, _, exponent = repr(value).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    leading = len(whole + fraction) - len(digits)
    point = len(whole) - leading + int(exponent or 0)
    return digits.rstrip("0"), point


def _place(digits: str, point: int) -> str:
    count = len(digits)
    if count <= point <= 21:
        return digits + "0" * (point - count)
    if 0 < point <= 21:
        return digits[:point] + "." + digits[point:]
    if -6 < point <= 0:
        return "0." + "0" * -point + digits
    exponent = f"e{'+' if point > 0 else '-'}{abs(point - 1)}"
    return digits[0] + ("." + digits[1:] if count > 1 else "") + exponent
