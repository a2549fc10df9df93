"""What orjson writes exactly as RFC 8785 asks, found out in one pass over the value and one over the bytes.

orjson differs from RFC 8785 on integral floats, -0.0, floats below 1e-5, integers beyond 2**53, NaN (it writes null)
and the order of keys beyond the Basic Multilingual Plane. It takes tuples, enumerations and UUIDs for what they are
not. `is_plain` lets none of that through; `is_normal` and `has_astral_key` look at what only the bytes show cheaply.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from typing import TypeGuard, cast

import orjson

from tachograph.core.canonical._json import DEPTH_MAX, ITEMS_MAX, JsonValue

_STRICT = (
    orjson.OPT_PASSTHROUGH_SUBCLASS
    | orjson.OPT_PASSTHROUGH_DATACLASS
    | orjson.OPT_PASSTHROUGH_DATETIME
    | orjson.OPT_STRICT_INTEGER
)
_SORTED = _STRICT | orjson.OPT_SORT_KEYS
_ASTRAL_KEY = re.compile(rb'[\xf0-\xf4](?:[^"\\]|\\.)*":', re.DOTALL)

FLOAT_MIN = 1e-5
FLOAT_MAX = 2.0**52
"""From here on every float is integral."""


def is_plain_float(value: float) -> bool:
    """Whether a float is neither integral nor written with an exponent by orjson; NaN is not."""
    return FLOAT_MIN <= abs(value) < FLOAT_MAX and value % 1 != 0


# The exact type of what these are called with was just looked at; a cast for each value would cost as much as the look.
_VALUES = cast("Callable[[object], Iterable[object]]", dict[object, object].values)
_EXTEND = cast("Callable[[list[object], object], None]", list[object].extend)
_IS_PLAIN_FLOAT = cast("Callable[[object], bool]", is_plain_float)


def is_plain(value: object) -> TypeGuard[JsonValue]:  # noqa: C901  # one loop without calls: the price of each value
    """Whether a value is made of exact built-in types and numbers that orjson writes as RFC 8785 asks.

    Keys are left to `dump`, which takes nothing but strings.
    """
    values, extend, is_float = _VALUES, _EXTEND, _IS_PLAIN_FLOAT
    layer = [value]
    count = 0
    for _ in range(DEPTH_MAX + 1):
        below: list[object] = []
        for item in layer:
            kind = type(item)
            if kind is str or kind is int:
                continue
            if kind is dict:
                extend(below, values(item))
            elif kind is list:
                extend(below, item)
            elif item is None or kind is bool:
                continue
            elif kind is not float or not is_float(item):
                return False
            if len(below) > ITEMS_MAX:
                return False
        if not below:
            return True
        count += len(below)
        if count > ITEMS_MAX:
            return False
        layer = below
    return False


def dump(value: JsonValue, *, ordered: bool) -> bytes:
    """JSON of a plain value; keys sorted by code point, or in the order they have.

    Raises:
        TypeError: an integer is beyond 2**53, a string holds half of a surrogate pair, or a key is no string.
    """
    return orjson.dumps(value, option=_STRICT if ordered else _SORTED)


def is_normal(data: bytes) -> bool:
    r"""Whether every string in JSON is in NFC.

    Looking at the whole text is enough: a part of normalised text is normalised, and the other way round a false
    alarm (an escape such as `\n` before a combining mark) costs only time.
    """
    return data.isascii() or unicodedata.is_normalized("NFC", data.decode())


def has_astral_key(data: bytes) -> bool:
    """Whether a key may hold a character beyond U+FFFF, where order by code point and by UTF-16 unit part."""
    return not data.isascii() and _ASTRAL_KEY.search(data) is not None
