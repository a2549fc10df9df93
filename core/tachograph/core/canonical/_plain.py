"""What orjson writes exactly as RFC 8785 asks, found out in one pass over the value and one over the bytes.

orjson differs from RFC 8785 on integral floats, -0.0, floats below 1e-5, integers beyond 2**53, NaN (it writes null)
and the order of keys beyond the Basic Multilingual Plane. It takes tuples, enumerations and UUIDs for what they are
not. `is_plain` lets none of that through; `is_normal` and `has_astral_key` look at what only the bytes show cheaply.
"""

from __future__ import annotations

import re
import unicodedata
from gc import get_referents
from itertools import combinations
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


_CONTAINERS = frozenset({dict, list})
_PLAIN = frozenset({str, int, bool, type(None)}) | _CONTAINERS
_FLOAT = frozenset({float})
_IS_LAST = {
    frozenset(kinds): _CONTAINERS.isdisjoint(kinds)
    for count in range(len(_PLAIN) + 1)
    for kinds in combinations(_PLAIN, count)
}
"""By the types in a layer, where all are plain: whether there is none below it."""
_SMALL_LAYER_MAX = 64
"""Up to so many values are opened in one go: were they all one long list, it would be held as often as that."""


def is_plain(value: object) -> TypeGuard[JsonValue]:
    """Whether a value is made of exact built-in types and numbers that orjson writes as RFC 8785 asks.

    Keys are left to `dump`, which takes nothing but strings. Layer by layer, since what a layer holds, and of which
    types, the interpreter gathers without a step of Python for each value.
    """
    layer = get_referents(value) if type(value) in _CONTAINERS else [value]
    count = len(layer)
    for _ in range(DEPTH_MAX):
        kinds = frozenset(map(type, layer))
        is_last = _IS_LAST.get(kinds)
        if is_last is None:
            if not _are_plain_floats(kinds, layer):
                return False
            is_last = _IS_LAST[kinds - _FLOAT]
        if is_last:
            return count <= ITEMS_MAX
        layer = get_referents(*layer) if len(layer) <= _SMALL_LAYER_MAX else _below(layer, ITEMS_MAX - count)
        count += len(layer)
        if count > ITEMS_MAX:
            return False
    return False


def _are_plain_floats(kinds: frozenset[type], layer: list[object]) -> bool:
    """Whether what is not plain in a layer are floats, and these are."""
    return kinds - _PLAIN == _FLOAT and all(is_plain_float(item) for item in layer if type(item) is float)


def _below(layer: list[object], count_max: int) -> list[object]:
    """What the containers of a layer hold, or more than `count_max` of it."""
    below: list[object] = []
    for item in layer:
        if type(item) is dict:
            below += cast("dict[object, object]", item).values()
        elif type(item) is list:
            below += cast("list[object]", item)
        if len(below) > count_max:
            break
    return below


def dump(value: object, *, ordered: bool) -> bytes:
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
