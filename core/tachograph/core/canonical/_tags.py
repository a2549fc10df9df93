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
| dataclass, named tuple | `{"$object": ["module:Qualname", {"field": value}]}` |
| member of an enumeration | `{"$object": ["module:Qualname", "NAME"]}`, a nameless union of flags by its value |
| pydantic model | as a dataclass; `{"set": [names], "extra": {…}, "private": {…}}` third, where these say anything |
"""

from __future__ import annotations

import base64
import datetime as dt
import unicodedata
from collections.abc import Callable, Collection, Sized
from decimal import Decimal
from typing import cast
from uuid import UUID
from zoneinfo import ZoneInfo

from tachograph.core.canonical._codecs import Codec, codec_for
from tachograph.core.canonical._json import DEPTH_MAX, INTEGER_MAX, ITEMS_MAX, JsonValue
from tachograph.core.canonical._kinds import kind_for
from tachograph.core.canonical._parts import Kind
from tachograph.core.canonical._plain import dump, is_plain_float
from tachograph.core.canonical._refusal import Refusal, TooDeep, member

_DECIMAL_BITS_MAX = 512
"""Python refuses decimal text of integers with more than 4,300 digits; hexadecimal has no such limit."""


class Tagger:
    """Turns one payload into JSON."""

    __slots__ = ("_items", "_ordered")

    def __init__(self, *, ordered: bool) -> None:
        self._ordered = ordered
        self._items = 0

    def tag(self, value: object, depth: int = 0) -> JsonValue:
        """A value as JSON.

        Raises:
            Refusal: no codec writes it.
            TooDeep: it lies too deep, or contains itself.
        """
        kind = type(value)
        if kind is str:
            return tagged_text(value)  # type: ignore[arg-type]  # the exact type was just looked at
        if kind is dict:
            return self._dict(value, depth + 1)  # type: ignore[arg-type]  # as above
        if kind is list:
            return self._items_of(value, depth + 1)  # type: ignore[arg-type]  # as above
        if value is None or kind is bool:
            return value  # type: ignore[return-value]  # as above
        simple = _SIMPLE.get(kind)
        return self._special(kind, value, depth + 1) if simple is None else simple(value)

    def _special(self, kind: type[object], value: object, depth: int) -> JsonValue:
        if kind is tuple:
            return {"$tuple": self._items_of(cast("tuple[object, ...]", value), depth)}
        if kind is set or kind is frozenset:
            items = self._items_of(cast("set[object]", value), depth)
            return {f"${kind.__name__}": sorted(items, key=_bytes)}
        codec = codec_for(kind)
        if codec is not None:
            return self._object(codec, value, depth)
        found = kind_for(kind)
        if isinstance(found, str):
            raise Refusal(value, _why_not(kind, found))
        return self._of_kind(found, value, depth)

    def _enter(self, value: Sized, depth: int) -> None:
        if depth > DEPTH_MAX and len(value):
            raise TooDeep(value, f"it lies more than {DEPTH_MAX} levels deep")
        self._items += len(value)
        if self._items > ITEMS_MAX:
            raise Refusal(value, f"the payload holds more than {ITEMS_MAX} values")

    def _items_of(self, values: Collection[object], depth: int) -> list[JsonValue]:
        self._enter(values, depth)
        items: list[JsonValue] = []
        try:
            for value in values:
                items.append(self.tag(value, depth))  # how many are done is where a refusal stands
        except Refusal as refusal:
            raise refusal.under(f"[{len(items)}]") from refusal.__cause__
        return items

    def _dict(self, value: dict[object, object], depth: int) -> JsonValue:
        for key in value:
            if type(key) is not str or "$" <= key < "%" or not (key.isascii() or is_clean(key)):
                return {"$dict": self._pairs(value, depth)}
        return self._members(value, depth)  # type: ignore[arg-type]  # every key was just looked at

    def _members(self, value: dict[str, object], depth: int) -> JsonValue:
        self._enter(value, depth)
        key = ""
        try:
            return {(key := name): self.tag(item, depth) for name, item in value.items()}
        except Refusal as refusal:
            raise refusal.under(member(key)) from refusal.__cause__

    def _pairs(self, value: dict[object, object], depth: int) -> list[JsonValue]:
        self._enter(value, depth)
        pairs: list[JsonValue] = []
        for key, item in value.items():
            try:
                pairs.append([self.tag(key, depth), self.tag(item, depth)])
            except Refusal as refusal:
                raise refusal.under(member(key)) from refusal.__cause__
        return pairs if self._ordered else sorted(pairs, key=_bytes)

    def _object(self, codec: Codec, value: object, depth: int) -> JsonValue:
        if depth > DEPTH_MAX:
            raise TooDeep(value, f"it lies more than {DEPTH_MAX} levels deep")
        try:
            plain = codec.to_plain(value)
        except Exception as error:
            raise Refusal(value, f"its codec {codec.name!r} failed with {type(error).__name__}") from error
        return {"$object": [codec.name, self.tag(plain, depth)]}

    def _of_kind(self, kind: Kind, value: object, depth: int) -> JsonValue:
        if depth > DEPTH_MAX:
            raise TooDeep(value, f"it lies more than {DEPTH_MAX} levels deep")
        try:
            fields, rest = kind.parts(value)
        except ValueError as error:
            raise Refusal(value, f"{error} and no codec is registered for it") from error
        written: list[JsonValue] = [kind.name, self.tag(fields, depth)]
        if rest is not None:
            written.append(self.tag(rest, depth))
        return {"$object": written}


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
    if type(zone) is ZoneInfo and cast("str | None", zone.key) is not None:
        return f"[{zone.key}]"
    if type(zone) is not dt.timezone:
        raise Refusal(value, f"its time zone is of type {type(zone).__qualname__!r}, not timezone or ZoneInfo")
    if zone.tzname(None) != dt.timezone(zone.utcoffset(None)).tzname(None):
        raise Refusal(value, f"its time zone has a name of its own, {zone.tzname(None)!r}; use timezone(offset)")
    return ""


def _base64(value: bytes | bytearray) -> str:
    return base64.b64encode(value).decode("ascii")


def _why_not(kind: type[object], otherwise: str) -> str:
    for base in kind.__mro__[1:]:
        if base in BUILT_IN and base is not object:
            return f"it is a subclass of {base.__name__} and no codec is registered for it"
    return otherwise


def _bytes_tagged(value: bytes) -> JsonValue:
    return {"$bytes": _base64(value)}


def _bytearray(value: bytearray) -> JsonValue:
    return {"$bytearray": _base64(value)}


def _decimal(value: Decimal) -> JsonValue:
    return {"$decimal": str(value)}


def _uuid(value: UUID) -> JsonValue:
    return {"$uuid": str(value)}


def _date(value: dt.date) -> JsonValue:
    return {"$date": value.isoformat()}


def _timedelta(value: dt.timedelta) -> JsonValue:
    return {"$timedelta": [value.days, value.seconds, value.microseconds]}


_SIMPLE = cast(
    "dict[type[object], Callable[[object], JsonValue]]",
    {
        int: _integer,
        float: _float,
        bytes: _bytes_tagged,
        bytearray: _bytearray,
        Decimal: _decimal,
        UUID: _uuid,
        dt.datetime: _datetime,
        dt.date: _date,
        dt.time: _time,
        dt.timedelta: _timedelta,
    },
)
"""Each writer takes exactly the type it stands under, which no type can say of a table."""

BUILT_IN: frozenset[type[object]] = frozenset(
    {*_SIMPLE, str, bool, type(None), dict, list, tuple, set, frozenset, object}
)
"""Classes that need no codec."""
