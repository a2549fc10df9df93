"""JSON back into the Python values it was made from: the inverse of `_tags`."""

from __future__ import annotations

import base64
import binascii
import datetime as dt
import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import cast
from uuid import UUID
from zoneinfo import ZoneInfo

from tachograph.core.canonical._codecs import Codec, codec_named
from tachograph.core.canonical._json import JsonValue
from tachograph.core.canonical._kinds import made

_ESCAPED = re.compile(r"(?:[ -\[\]-~]|\\(?:[\\nrt]|x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8}))*")
_MOMENT = re.compile(r"([^\[;]+)(?:\[([^\];]+)\])?(;fold=1)?")

_CONTAINERS = (dict, list)

MALFORMED = (TypeError, ValueError, KeyError, InvalidOperation, binascii.Error, OverflowError)
"""What a reader raises on JSON that `_tags` did not write."""


class UnknownTag(ValueError):
    """A tag or codec that this release or process does not know."""


class CodecFailed(ValueError):
    """A codec could not read what it once wrote, or a class has other fields now."""


def untag(value: JsonValue) -> object:
    """The Python value that was written as this JSON.

    Raises:
        CodecFailed: a codec raised.
        UnknownTag: it holds a tag or names a codec that is not known here.
        ValueError, TypeError, KeyError, InvalidOperation, OverflowError: a tag's content is malformed.
    """
    if type(value) is dict:
        for key in value:
            if "$" <= key < "%":
                return _tagged(value)
        return {key: untag(item) if type(item) in _CONTAINERS else item for key, item in value.items()}
    return _items(value) if type(value) is list else value


def _items(values: JsonValue) -> list[object]:
    if type(values) is not list:
        raise TypeError("not an array")
    return [untag(value) if type(value) in _CONTAINERS else value for value in values]


def _tagged(value: dict[str, JsonValue]) -> object:
    tag = next(iter(value))
    reader = _READERS.get(tag)
    if reader is None or len(value) != 1:
        raise UnknownTag(f"the tag {next(key for key in value if key[:1] == '$')!r} is not known to this release")
    return reader(value[tag])


def _string(value: JsonValue) -> str:
    if type(value) is not str:
        raise TypeError("not a string")
    return value


def _integer(value: JsonValue) -> int:
    text = _string(value)
    return int(text, 16) if "0x" in text[:3] else int(text)


def _text(value: JsonValue) -> str:
    text = _string(value)
    if not _ESCAPED.fullmatch(text):
        raise ValueError("not an escaped string")
    return text.encode("ascii").decode("unicode_escape")


def _bytes(value: JsonValue) -> bytes:
    return base64.b64decode(_string(value), validate=True)


def _moment(value: JsonValue) -> tuple[str, ZoneInfo | None, int]:
    match = _MOMENT.fullmatch(_string(value))
    if match is None:
        raise ValueError("not a time")
    text, zone, fold = match.groups()
    return text, ZoneInfo(zone) if zone else None, 1 if fold else 0


def _datetime(value: JsonValue) -> dt.datetime:
    text, zone, fold = _moment(value)
    read = dt.datetime.fromisoformat(text)
    return read.replace(tzinfo=zone or read.tzinfo, fold=fold)


def _time(value: JsonValue) -> dt.time:
    text, zone, fold = _moment(value)
    read = dt.time.fromisoformat(text)
    return read.replace(tzinfo=zone or read.tzinfo, fold=fold)


def _timedelta(value: JsonValue) -> dt.timedelta:
    days, seconds, microseconds = cast("list[int]", _items(value))
    return dt.timedelta(days, seconds, microseconds)


def _dict(value: JsonValue) -> dict[object, object]:
    return {untag(key): untag(item) for key, item in cast("list[list[JsonValue]]", value)}


def _object(value: JsonValue) -> object:
    name, plain, *rest = _items(value)
    if type(name) is not str or len(rest) > 1:
        raise TypeError("not a name and what is written of a value")
    codec = codec_named(name)
    return _of_codec(codec, plain) if codec is not None else _of_kind(name, plain, rest)


def _of_codec(codec: Codec, plain: object) -> object:
    try:
        return codec.from_plain(plain)
    except Exception as error:
        raise CodecFailed(f"the codec {codec.name!r} failed with {type(error).__name__}: {error}") from error


def _of_kind(name: str, fields: object, rest: list[object]) -> object:
    if ":" not in name:
        raise UnknownTag(f"no codec {name!r} is registered in this process")
    try:
        return made(name, fields, rest[0] if rest else None)
    except LookupError:
        raise UnknownTag(
            f"the class {name!r} is not imported in this process, or not there under this name, and no codec has it; "
            f"import it in the module of the entry point, or register a codec {name!r} there"
        ) from None
    except Exception as error:
        raise CodecFailed(
            f"a value of the class {name!r} cannot be made: {error}; register a codec {name!r} that reads it"
        ) from error


_READERS: dict[str, Callable[[JsonValue], object]] = {
    "$tuple": lambda value: tuple(_items(value)),
    "$set": lambda value: set(_items(value)),
    "$frozenset": lambda value: frozenset(_items(value)),
    "$bytes": _bytes,
    "$bytearray": lambda value: bytearray(_bytes(value)),
    "$float": lambda value: float(_string(value)),
    "$int": _integer,
    "$decimal": lambda value: Decimal(_string(value)),
    "$uuid": lambda value: UUID(_string(value)),
    "$datetime": _datetime,
    "$date": lambda value: dt.date.fromisoformat(_string(value)),
    "$time": _time,
    "$timedelta": _timedelta,
    "$str": _text,
    "$dict": _dict,
    "$object": _object,
}
