"""Events to bytes and back.

A payload is `0x00 | schema id, 4 bytes, big-endian | Avro record`, the Confluent wire format.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import cast

from tachograph.schemas._classes import class_named
from tachograph.schemas._decoder import BROKEN, Decode, compile_decoder
from tachograph.schemas._encoder import UNFIT, Encode, compile_encoder
from tachograph.schemas._errors import CorruptPayload, LimitExceeded, SchemaMismatch, UnsupportedSchema
from tachograph.schemas._events import Event
from tachograph.schemas._limits import DEFAULT_LIMITS, Limits
from tachograph.schemas._parts import EventMeta
from tachograph.schemas._pick import Pick, compile_picker
from tachograph.schemas._plain import Plain, compile_plain
from tachograph.schemas._registry import MAGIC, OPTIONAL_ID_MIN, SchemaEntry, current, entry_of, schema_of
from tachograph.schemas._shape import Record, shape_of
from tachograph.schemas._upcast import Fields, upcast

PREFIX_BYTES = 5
"""The magic byte and the schema id."""

HASH = slice(5, 37)
"""Where an event's hash lies in its payload."""

CONTENT_OFFSET = 37
"""Where the bytes begin that the hash is made over."""


@dataclass(frozen=True, slots=True)
class _Plan:
    """How to read one schema."""

    entry: SchemaEntry
    tag: str
    past: bool
    """Whether a newer version of the type exists."""
    read: Decode
    read_meta: Decode


_plans: dict[bytes, _Plan] = {}
"""By prefix; filled as schemas are met, so that a payload costs one look-up."""


def encode_record(event_type: str, fields: Mapping[str, object]) -> bytes:
    """The Avro bytes of an event of the type's current version.

    Args:
        event_type: the name of its class.
        fields: exactly its fields, as `fields_of` gives them: parts are mappings, enums their text, and `details` a
            pair of its branch's full name (`tachograph.ToolRequest`) and its fields.

    Raises:
        SchemaMismatch: a field is missing, unknown or has a value that its type cannot hold.
    """
    try:
        return _encoder(event_type)(fields)
    except UNFIT as error:
        raise SchemaMismatch(event_type, _reason(error)) from error


@cache
def prefix_of(event_type: str) -> bytes:
    """The five bytes before a record of this type's current version.

    Raises:
        SchemaMismatch: there is no such type.
    """
    return _current(event_type).prefix


def schema_tag(payload: bytes) -> str:
    """The event's type and schema version, as in `CallStarted/1`.

    Raises:
        CorruptPayload, UnsupportedSchema: as `decode`.
    """
    return (_plans.get(payload[:PREFIX_BYTES]) or _plan_of(payload)).tag


def is_optional(payload: bytes) -> bool:
    """Whether a reader that does not know this event's schema may skip it, and count that it did.

    Raises:
        CorruptPayload: the bytes do not start as an event.
    """
    return _schema_id(payload) >= OPTIONAL_ID_MIN


def was_upcast(payload: bytes) -> bool:
    """Whether `decode` changes this event into a newer version of its type.

    Raises:
        CorruptPayload, UnsupportedSchema: as `decode`.
    """
    return (_plans.get(payload[:PREFIX_BYTES]) or _plan_of(payload)).past


def decode(payload: bytes) -> Event:
    """The event, as its current class.

    Raises:
        CorruptPayload: the bytes are no event.
        UnsupportedSchema: the schema is unknown to this release; `is_optional` tells whether to go on without it.
    """
    plan = _plans.get(payload[:PREFIX_BYTES]) or _plan_of(payload)
    return _event(plan, payload, len(payload))


def decode_foreign(payload: bytes, limits: Limits = DEFAULT_LIMITS) -> Event:
    """The same for bytes that somebody else made.

    Raises:
        LimitExceeded: the payload, or an array in it, is larger than allowed.
        CorruptPayload, UnsupportedSchema: as `decode`.
    """
    if len(payload) > limits.payload_bytes_max:
        raise LimitExceeded("the size of an event in bytes", len(payload), limits.payload_bytes_max)
    return _event(_plan_of(payload), payload, limits.items_max)


def decode_meta(payload: bytes) -> EventMeta:
    """The event's meta; nothing behind it is read. Of an unknown optional type, too.

    Raises:
        CorruptPayload, UnsupportedSchema: as `decode`.
    """
    plan = _plans.get(payload[:PREFIX_BYTES])
    read = plan.read_meta if plan else _meta_reader(payload)
    try:
        meta, end = read(payload, PREFIX_BYTES, len(payload))
    except BROKEN as error:
        raise _broken("the meta of an event", payload, error) from error
    if end > len(payload):
        raise CorruptPayload("the meta of an event", len(payload), "it ends too early")
    return cast("EventMeta", meta)


def picker(event_type: str, paths: Sequence[str], *, timed: bool = False, without: Sequence[str] = ()) -> Pick:
    """A function that reads only a few fields of payloads of the type's current version: make it once, use it often.

    It gives (seq, hlc, who, told, *the fields): `who` are the bytes that name agent, incarnation, run and tenant, the same
    in all of a stream's events that one recorder wrote; `told` is the logical time in microseconds, or None. Texts that
    are skipped are not held to be UTF-8. It gives None for what is broken, or merely unusual: `decode` tells which.

    Args:
        event_type: the name of its class.
        paths: of the fields behind the meta, as in `kind` or `result.digest`; a part of what is null is None.
        timed: give when the event was recorded, too, between `told` and the fields; causes and a trace are unusual then.
        without: fields that may be null: where one is not, the event is unusual.

    Raises:
        SchemaMismatch: there is no such type or field.
    """
    shape = shape_of(schema_of(_current(event_type)))
    return compile_picker(shape, paths, PREFIX_BYTES, timed=timed, without=without)


def fields_of(event: Event) -> dict[str, object]:
    """The event's fields as `encode_record` takes them: the inverse of `decode`."""
    return _plain(type(event).__name__)(event)


def _event(plan: _Plan, payload: bytes, items_max: int) -> Event:
    try:
        event, end = plan.read(payload, PREFIX_BYTES, items_max)
    except BROKEN as error:
        raise _broken(plan.tag, payload, error) from error
    if end != len(payload):
        reason = "it ends too early" if end > len(payload) else "bytes follow its last field"
        raise CorruptPayload(plan.tag, min(end, len(payload)), reason)
    if plan.past:
        made = cast("Callable[..., Event]", class_named(plan.entry.type))
        event = made(**upcast(plan.entry, cast("Fields", event)))
    return cast("Event", event)


def _broken(what: str, payload: bytes, error: Exception) -> CorruptPayload:
    if isinstance(error, UnicodeDecodeError):
        return CorruptPayload(what, max(payload.find(error.object), 0) + error.start, "a text is not UTF-8")
    return CorruptPayload(what, len(payload), "it ends too early, or an enum has no such symbol")


def _reason(error: Exception) -> str:
    return f"there is no field or branch {error}" if isinstance(error, KeyError) else str(error)


def _current(event_type: str) -> SchemaEntry:
    try:
        return current()[event_type]
    except KeyError:
        raise SchemaMismatch(event_type, f"the event types are {', '.join(sorted(current()))}") from None


def _schema_id(payload: bytes) -> int:
    if len(payload) < CONTENT_OFFSET or payload[:1] != MAGIC:
        raise CorruptPayload("an event", 0, "it is shorter than any event, or its first byte is not 0")
    return int.from_bytes(payload[1:PREFIX_BYTES], "big")


def _plan_of(payload: bytes) -> _Plan:
    entry = entry_of(_schema_id(payload))
    if entry.prefix not in _plans:
        shape = shape_of(schema_of(entry))
        read, read_meta = compile_decoder(shape), compile_decoder(_meta(shape))
        _plans[entry.prefix] = _Plan(entry, entry.tag, entry != current()[entry.type], read, read_meta)
    return _plans[entry.prefix]


def _meta(shape: Record) -> Record:
    return cast("Record", shape.fields[0][1])


def _meta_reader(payload: bytes) -> Decode:
    try:
        return _plan_of(payload).read_meta
    except UnsupportedSchema:
        if not is_optional(payload):
            raise
        return _current_meta_reader()


@cache
def _current_meta_reader() -> Decode:
    return compile_decoder(_meta(_shape("RunStarted")))


@cache
def _shape(event_type: str) -> Record:
    return shape_of(schema_of(_current(event_type)))


@cache
def _encoder(event_type: str) -> Encode:
    return compile_encoder(_shape(event_type))


@cache
def _plain(event_type: str) -> Plain:
    return compile_plain(_shape(event_type))
