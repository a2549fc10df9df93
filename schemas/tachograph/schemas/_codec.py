"""Events to bytes and back."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Mapping
from enum import StrEnum
from functools import cache

from tachograph.schemas import _events
from tachograph.schemas._errors import CorruptPayload, SchemaMismatch
from tachograph.schemas._events import Event, EventMeta
from tachograph.schemas._reference import read_reference, write_reference
from tachograph.schemas._registry import MAGIC, NAMESPACE, OPTIONAL_ID_MIN, SchemaEntry, current, entry_of

HASH = slice(5, 37)
"""Where an event's hash lies in its payload."""

CONTENT_OFFSET = 37
"""Where the bytes begin that the hash is made over."""


def encode_record(event_type: str, fields: Mapping[str, object]) -> bytes:
    """The Avro bytes of an event; `fields` as `fields_of` gives them."""
    try:
        return write_reference(current()[event_type], dict(fields))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise SchemaMismatch(event_type, str(error)) from error


def prefix_of(event_type: str) -> bytes:
    """The five bytes before a record of this type's current version."""
    return current()[event_type].prefix


def schema_tag(payload: bytes) -> str:
    """`CallStarted/1`: the event's type and schema version."""
    return _entry(payload).tag


def is_optional(payload: bytes) -> bool:
    """Whether a reader that does not know this event's schema may skip it."""
    return _schema_id(payload) >= OPTIONAL_ID_MIN


def was_upcast(payload: bytes) -> bool:
    """Whether `decode` changes this event into a newer version of its type."""
    entry = _entry(payload)
    return entry.version != current()[entry.type].version


def decode(payload: bytes) -> Event:
    """The event, as its current class."""
    entry = _entry(payload)
    fields = read_reference(entry, payload[5:])
    if entry.tag == "CallFinished/1":
        fields |= {"gap": _events.GAP_MAX, "unrecorded": None}
    return typing.cast("Event", _made(getattr(_events, entry.type), fields))


def decode_meta(payload: bytes) -> EventMeta:
    """The event's meta."""
    return decode(payload).meta


def fields_of(event: Event) -> dict[str, object]:
    """The inverse of `decode`, for `encode_record`."""
    return {field.name: _plain(getattr(event, field.name), field.name) for field in dataclasses.fields(event)}


def _plain(value: object, name: str) -> object:
    if isinstance(value, StrEnum):
        return value.value
    if isinstance(value, tuple):
        return [_plain(item, "") for item in value]
    if dataclasses.is_dataclass(value):
        made = {field.name: _plain(getattr(value, field.name), field.name) for field in dataclasses.fields(value)}
        return (f"{NAMESPACE}.{type(value).__name__}", made) if name == "details" and type(value).__name__ != "Body" else made
    return value


@cache
def _hints(cls: type) -> dict[str, object]:
    return typing.get_type_hints(cls)


def _made(hint: object, value: object) -> object:
    if value is None:
        return None
    args = [arg for arg in typing.get_args(hint) if arg is not type(None) and arg is not Ellipsis]
    if isinstance(value, tuple):
        name, value = value
        return _made(getattr(_events, name.split(".")[-1]), value)
    if typing.get_origin(hint) is tuple:
        return tuple(_made(args[0], item) for item in typing.cast("list[object]", value))
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return hint(str(value))
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return hint(**{key: _made(_hints(hint)[key], item) for key, item in typing.cast("dict[str, object]", value).items()})
    if args and typing.get_origin(hint) is not typing.Literal:
        return _made(args[0], value)
    return value


def _schema_id(payload: bytes) -> int:
    if len(payload) < CONTENT_OFFSET or payload[:1] != MAGIC:
        raise CorruptPayload("a payload", 0, "it does not start as an event")
    return int.from_bytes(payload[1:5], "big")


def _entry(payload: bytes) -> SchemaEntry:
    return entry_of(_schema_id(payload))
