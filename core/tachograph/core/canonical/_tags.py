r"""Python values as JSON: what JSON cannot say stands in an object with one key that starts with `$`.

| value | JSON |
|---|---|
| tuple, set, frozenset | `{"$tuple": […]}`, `{"$set": […]}`, `{"$frozenset": […]}` (a set's items in order of their bytes) |
| bytes, bytearray | `{"$bytes": "base64"}`, `{"$bytearray": "base64"}` |
| float that is integral, below 1e-5, NaN or infinite | `{"$float": "3.0"}` |
| int beyond 2**53 - 1 | `{"$int": "9007199254740992"}`, hexadecimal beyond 512 bits |
| Decimal, UUID, date, time | `{"$decimal": "1.50"}`, … |
| datetime | `{"$datetime": "2026-03-01T09:30:00+01:00[Europe/Berlin];fold=1"}`, zone and fold where it has them |
| timedelta | `{"$timedelta": [days, seconds, microseconds]}` |
| str that is not in NFC or holds half a surrogate pair | `{"$str": "e\u0301"}`, escaped as in Python |
| dict with a key that is no NFC string or starts with `$` | `{"$dict": [[key, value], …]}` |
| value of a registered class | `{"$object": ["name", plain]}` |
"""

from __future__ import annotations

import base64
import datetime as dt
import unicodedata
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import cast
from uuid import UUID
from zoneinfo import ZoneInfo

from tachograph.core.canonical._codecs import Codec, codec_for
from tachograph.core.canonical._json import DEPTH_MAX, INTEGER_MAX, ITEMS_MAX, JsonValue
from tachograph.core.canonical._plain import dump, is_plain_float
from tachograph.core.canonical._refusal import Refusal, member

_DECIMAL_BITS_MAX = 512
"""Python refuses decimal text of integers with more than 4,300 digits; hexadecimal has no such limit."""


class Tagger:
    """Turns one payload into JSON."""

    __slots__ = ("_items", "_open", "_ordered")

    def __init__(self, *, ordered: bool) -> None:
        self._ordered = ordered
        self._items = 0
        self._open: set[int] = set()

    def tag(self, value: object) -> JsonValue:
        """A value as JSON.

        Raises:
            Refusal: no codec writes it.
        """
        kind = type(value)
        if kind is str:
            return tagged_text(value)  # type: ignore[arg-type]  # the exact type was just looked at
        if value is None or kind is bool:
            return value  # type: ignore[return-value]  # as above
        simple = _SIMPLE.get(kind)
        return self._container(kind, value) if simple is None else simple(value)

    def _container(self, kind: type[object], value: object) -> JsonValue:
        if id(value) in self._open:
            raise Refusal(value, "it contains itself")
        if len(self._open) == DEPTH_MAX:
            raise Refusal(value, f"it lies more than {DEPTH_MAX} levels deep")
        self._open.add(id(value))
        try:
            return self._inside(kind, value)
        finally:
            self._open.discard(id(value))

    def _inside(self, kind: type[object], value: object) -> JsonValue:
        if kind is dict:
            return self._dict(cast("dict[object, object]", value))
        if kind is list:
            return self._items_of(cast("list[object]", value))
        if kind is tuple:
            return {"$tuple": self._items_of(cast("tuple[object, ...]", value))}
        if kind is set or kind is frozenset:
            return {f"${kind.__name__}": self._members_of(cast("set[object]", value))}
        codec = codec_for(kind)
        if codec is None:
            raise Refusal(value, _why_not(kind))
        return self._object(codec, value)

    def _items_of(self, values: Iterable[object]) -> list[JsonValue]:
        items: list[JsonValue] = []
        try:
            for value in values:
                items.append(self.tag(value))  # noqa: PERF401  # how many are done is where a refusal stands
        except Refusal as refusal:
            raise refusal.under(f"[{len(items)}]") from None
        self._count(len(items))
        return items

    def _members_of(self, values: Iterable[object]) -> list[JsonValue]:
        return sorted(self._items_of(values), key=_bytes)

    def _dict(self, value: dict[object, object]) -> JsonValue:
        members: dict[str, JsonValue] = {}
        for key, item in value.items():
            if type(key) is not str or key[:1] == "$" or not is_clean(key):
                return {"$dict": self._pairs(value)}
            try:
                members[key] = self.tag(item)
            except Refusal as refusal:
                raise refusal.under(member(key)) from None
        self._count(len(members))
        return members

    def _pairs(self, value: dict[object, object]) -> list[JsonValue]:
        pairs: list[JsonValue] = []
        for key, item in value.items():
            try:
                pairs.append([self.tag(key), self.tag(item)])
            except Refusal as refusal:
                raise refusal.under(member(key)) from None
        self._count(2 * len(pairs))
        return pairs if self._ordered else sorted(pairs, key=_bytes)

    def _object(self, codec: Codec, value: object) -> JsonValue:
        try:
            plain = codec.to_plain(value)
        except Exception as error:
            raise Refusal(value, f"its codec {codec.name!r} failed with {type(error).__name__}") from error
        return {"$object": [codec.name, self.tag(plain)]}

    def _count(self, items: int) -> None:
        self._items += items
        if self._items > ITEMS_MAX:
            raise Refusal([], f"the payload holds more than {ITEMS_MAX} values")


def _bytes(value: JsonValue) -> bytes:
    return dump(value, ordered=False)


def is_clean(text: str) -> bool:
    """Whether a string is in NFC and can be written in UTF-8."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return unicodedata.is_normalized("NFC", text)


def tagged_text(value: str) -> JsonValue:
    """A string as it stands in a body: itself, or escaped under `$str`."""
    return value if is_clean(value) else {"$str": value.encode("unicode_escape").decode("ascii")}


def _integer(value: int) -> JsonValue:
    if -INTEGER_MAX <= value <= INTEGER_MAX:
        return value
    return {"$int": str(value) if value.bit_length() <= _DECIMAL_BITS_MAX else hex(value)}


def _float(value: float) -> JsonValue:
    return value if is_plain_float(value) else {"$float": repr(value)}


def _datetime(value: dt.datetime) -> JsonValue:
    return {"$datetime": value.isoformat() + _zone(value, value.tzinfo) + (";fold=1" if value.fold else "")}


def _time(value: dt.time) -> JsonValue:
    return {"$time": value.isoformat() + _zone(value, value.tzinfo) + (";fold=1" if value.fold else "")}


def _zone(value: dt.datetime | dt.time, zone: dt.tzinfo | None) -> str:
    if zone is None:
        return ""
    if type(zone) is ZoneInfo and zone.key is not None:
        return f"[{zone.key}]"
    if type(zone) is not dt.timezone:
        raise Refusal(value, f"its time zone is of type {type(zone).__qualname__!r}, not timezone or ZoneInfo")
    if zone.tzname(None) != dt.timezone(zone.utcoffset(None)).tzname(None):
        raise Refusal(value, f"its time zone has a name of its own, {zone.tzname(None)!r}; use timezone(offset)")
    return ""


def _base64(value: bytes | bytearray) -> str:
    return base64.b64encode(value).decode("ascii")


def _why_not(kind: type[object]) -> str:
    for base in kind.__mro__[1:]:
        if base in BUILT_IN and base is not object:
            return f"it is a subclass of {base.__name__} and no codec is registered for it"
    return "no codec is registered for it"


def _simple(table: dict[type[object], object]) -> dict[type[object], Callable[[object], JsonValue]]:
    """Each writer takes exactly the type it stands under, which no type can say of a table."""
    return cast("dict[type[object], Callable[[object], JsonValue]]", table)


_SIMPLE = _simple(
    {
        int: _integer,
        float: _float,
        bytes: lambda value: {"$bytes": _base64(value)},
        bytearray: lambda value: {"$bytearray": _base64(value)},
        Decimal: lambda value: {"$decimal": str(value)},
        UUID: lambda value: {"$uuid": str(value)},
        dt.datetime: _datetime,
        dt.date: lambda value: {"$date": value.isoformat()},
        dt.time: _time,
        dt.timedelta: lambda value: {"$timedelta": [value.days, value.seconds, value.microseconds]},
    }
)

BUILT_IN: frozenset[type[object]] = frozenset(
    {*_SIMPLE, str, bool, type(None), dict, list, tuple, set, frozenset, object}
)
"""Classes that need no codec."""
