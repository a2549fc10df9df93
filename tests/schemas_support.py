"""Events to test with: one of each type, any of each type, and fastavro as the judge of their bytes."""

from __future__ import annotations

import io
from collections.abc import Iterator
from functools import cache
from typing import cast

import fastavro
from hypothesis import strategies as st

from tachograph import schemas
from tachograph.schemas import (
    Body,
    CallOutcome,
    Cause,
    EffectState,
    EndOutcome,
    Error,
    Event,
    EventMeta,
    Evidence,
    Fidelity,
    ModelRequest,
    RetrievalResponse,
    Usage,
)
from tachograph.schemas._registry import NAMESPACE, SchemaEntry, current, entries, schema_of
from tachograph.schemas._shape import Array, Choice, Enumeration, Fixed, Primitive, Record, Shape, shape_of

PLAIN = {
    "boolean": st.booleans(),
    "bytes": st.binary(max_size=300),
    "double": st.floats(allow_nan=False),
    "long": st.integers(-(1 << 63), (1 << 63) - 1) | st.integers(-200, 20_000),
    "string": st.text(max_size=150),
}


def reference_write(entry: SchemaEntry, fields: dict[str, object]) -> bytes:
    """The record's bytes as fastavro writes them."""
    file = io.BytesIO()
    fastavro.schemaless_writer(file, _parsed(entry), fields, strict=True)
    return file.getvalue()


def reference_read(entry: SchemaEntry, record: bytes) -> dict[str, object]:
    """The record's fields as fastavro reads them; details are pairs of branch name and fields."""
    named = {"return_record_name": True, "return_record_name_override": True}
    return cast("dict[str, object]", fastavro.schemaless_reader(io.BytesIO(record), _parsed(entry), None, **named))


@cache
def _parsed(entry: SchemaEntry) -> dict[str, object]:
    return cast("dict[str, object]", fastavro.parse_schema(schema_of(entry)))


def payload_of(event: Event) -> bytes:
    """The event as it lies in the log."""
    name = type(event).__name__
    return schemas.prefix_of(name) + schemas.encode_record(name, schemas.fields_of(event))


def shape(entry: SchemaEntry) -> Record:
    """The shape of one version of an event type."""
    return shape_of(schema_of(entry))


@cache
def any_fields(of: Shape) -> st.SearchStrategy[object]:
    """Any value of a shape, as the encoder takes it."""
    match of:
        case Primitive(name):
            return PLAIN[name]
        case Fixed(_, size):
            return st.binary(min_size=size, max_size=size)
        case Enumeration(_, symbols):
            return st.sampled_from(symbols)
        case Array(items):
            return st.lists(any_fields(items), max_size=3)
        case Choice(branches):
            branch = _named if len(branches) > 1 else any_fields
            return st.none() | st.one_of([branch(shape) for shape in branches])
        case Record(_, fields):
            return st.fixed_dictionaries({name: any_fields(field) for name, field in fields})


def _named(branch: Shape) -> st.SearchStrategy[object]:
    return st.tuples(st.just(f"{NAMESPACE}.{cast('Record', branch).name}"), any_fields(branch))


def any_record(entry: SchemaEntry) -> st.SearchStrategy[dict[str, object]]:
    """Any event's fields under this schema."""
    return cast("st.SearchStrategy[dict[str, object]]", any_fields(shape(entry)))


ALL = tuple(entries().values())
"""Every schema that was ever assigned."""

CURRENT = tuple(current().values())
"""The newest schema of each type."""


META = EventMeta(
    hash=bytes(range(32)),
    seq=7,
    hlc=1_767_225_600_000 << 16 | 3,
    agent_id="billing",
    incarnation=1,
    run_id="01JGFJJZ00",
    tenant="default",
    causes=(Cause("01JGFJJZ00", "triage", 1, 130, bytes(32)),),
    recorded_at_us=1_767_225_600_000_123,
    logical_time_us=1_767_225_600_000_000,
    trace="00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
)

INLINE = Body(digest=b"\x01" * 32, size=17, redacted=True, inline=b'{"to":"\xc3\xa4@b.example"}', chunks=())
CHUNKED = Body(digest=b"\x02" * 32, size=40_000, redacted=False, inline=None, chunks=(b"\x03" * 32, b"\x04" * 32))
ERROR = Error("smtplib.SMTPServerDisconnected", ("smtplib.SMTPException", "builtins.OSError"), "closed", INLINE)

_MODEL = ModelRequest("openai", "gpt-5", None, '{"temperature":0}', "refund-7", b"\x05" * 32, None)
_FOUND = RetrievalResponse((Evidence("policy", "3", "3-2", b"\x06" * 32, 1, 0.875),))

EXAMPLES: tuple[Event, ...] = (
    schemas.RunStarted(META, "refund-desk", "fleet:main", INLINE, CHUNKED, None, INLINE, "standard", "2"),
    schemas.RunFinished(META, EndOutcome.ERROR, None, ERROR, b"\x07" * 32),
    schemas.AgentStarted(META, "billing", "run", None, INLINE, None, "2"),
    schemas.AgentFinished(META, EndOutcome.OK, INLINE, None),
    schemas.CallStarted(META, "model", "answer", "1", "read", None, 2, _MODEL, INLINE),
    schemas.CallChunk(META, 5, 0, -1, 4, INLINE),
    schemas.CallFinished(
        META, 5, CallOutcome.UNKNOWN, -1, 2, 3, "a socket", Usage(812, 64, None), _FOUND, ERROR, INLINE, CHUNKED
    ),
    schemas.MessageSent(META, "m-1", "triage", INLINE),
    schemas.MessageReceived(META, 6, "m-1", "triage", 0, 0, CHUNKED),
    schemas.EffectTransitioned(
        META, "R/a#1.5", "send_mail", "mail-4711", EffectState.EXECUTING, EffectState.UNKNOWN, "lost", "recorder", None
    ),
    schemas.StateChanged(META, "refunded", INLINE),
    schemas.Checkpointed(META, "before the mail", INLINE),
    schemas.ArtifactWritten(META, "letter", "text/plain", CHUNKED),
    schemas.EvidenceFrozen(META, "claim 12", "person:ada"),
    schemas.BodyErased(META, b"\x08" * 32, "request 3", "person:ada"),
    schemas.RunImported(META, "airline", Fidelity.CONTROL_FLOW, ("clock", "order of calls"), INLINE),
    schemas.TimerFired(META, 3, 250_000, 2),
)
"""One event of each type, every part of it filled at least once."""


def past_examples() -> Iterator[tuple[SchemaEntry, dict[str, object]]]:
    """The same events as past versions held them."""
    for event in EXAMPLES:
        fields = schemas.fields_of(event)
        for entry in entries().values():
            if entry.type == type(event).__name__ and entry != current()[entry.type]:
                yield entry, {name: fields[name] for name in shape(entry).names}
