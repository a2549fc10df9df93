"""Bytes that somebody else made either are an event or are refused: no other exception, no waste of memory or time."""

from __future__ import annotations

import contextlib
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas_support import ALL, EXAMPLES, META, payload_of
from tachograph.schemas import (
    CorruptPayload,
    EndOutcome,
    EvidenceBroken,
    LimitExceeded,
    Limits,
    RunFinished,
    UnsupportedSchema,
    decode,
    decode_foreign,
    decode_meta,
    is_optional,
    prefix_of,
    schema_tag,
    was_upcast,
)
from tachograph.schemas._registry import SchemaEntry

PAYLOADS = [payload_of(event) for event in EXAMPLES]

CAUSES_AT = payload_of(RunFinished(META, EndOutcome.OK, None, None, None)).index(b"default") + len("default")
"""Where the meta's first array starts in an event with this meta."""


def read(payload: bytes) -> None:
    """Whatever is done to a payload from elsewhere: it is an event, or evidence that is broken."""
    for reader in (decode_foreign, decode, decode_meta, schema_tag, was_upcast, is_optional):
        with contextlib.suppress(EvidenceBroken):
            reader(payload)


@given(st.sampled_from(ALL), st.binary(max_size=400))
@settings(max_examples=1000, print_blob=True, deadline=None)
def test_random_bytes_are_refused_or_read(entry: SchemaEntry, data: bytes) -> None:
    """Noise behind any known prefix."""
    read(entry.prefix + data)
    read(data)


@given(st.sampled_from(PAYLOADS), st.data())
@settings(max_examples=1500, print_blob=True, deadline=None)
def test_damaged_events_are_refused_or_read(payload: bytes, data: st.DataObject) -> None:
    """An event with some of its bytes cut out, replaced, or put in."""
    start = data.draw(st.integers(0, len(payload)))
    end = data.draw(st.integers(start, min(len(payload), start + 12)))
    read(payload[:start] + data.draw(st.binary(max_size=12)) + payload[end:])


@pytest.mark.parametrize("payload", PAYLOADS, ids=schema_tag)
def test_every_beginning_of_an_event_is_refused(payload: bytes) -> None:
    """An event that ends anywhere before its end, or goes on behind it, is no event."""
    for end in range(len(payload)):
        with pytest.raises(CorruptPayload):
            decode(payload[:end])
    with pytest.raises(CorruptPayload, match="follow its last field"):
        decode(payload + b"\x00")


@pytest.mark.parametrize(
    "count",
    [
        b"\xfe\xff\xff\xff\x0f",  # 2^31 - 1 items
        b"\xff\xff\xff\xff\x0f\x02",  # as many, as a block that states its size
        b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01",  # 2^63 - 1
        b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x02",  # -2^63
        b"\xff" * 10,  # more than 64 bits
        b"\xff" * 4000,
    ],
)
def test_a_few_bytes_cannot_ask_for_many_items(count: bytes) -> None:
    """An array whose count does not fit into the bytes that are left is refused before anything is made for it."""
    payload = payload_of(RunFinished(META, EndOutcome.OK, None, None, None))
    bomb = payload[:CAUSES_AT] + count + payload[CAUSES_AT + 1 :]
    tracemalloc.start()
    with pytest.raises(CorruptPayload):
        decode_foreign(bomb)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200_000


def test_lengths_are_no_promises() -> None:
    """A text that claims 2^62 bytes is refused, and one of a negative length, too."""
    head = prefix_of("Checkpointed") + bytes(32) + b"\x00\x00"
    for length in (b"\xfe\xff\xff\xff\xff\xff\xff\xff\x7f", b"\x01", b"\x03"):
        with pytest.raises(CorruptPayload):
            decode_foreign(head + length + b"abc")


def test_items_and_sizes_have_limits() -> None:
    """An array or a payload over the limit is named with both numbers."""
    payload = payload_of(RunFinished(META, EndOutcome.OK, None, None, None))
    with pytest.raises(LimitExceeded, match="the limit is 0"):
        decode_foreign(payload, Limits(items_max=0))
    with pytest.raises(LimitExceeded, match=f"{len(payload)}, the limit is 64"):
        decode_foreign(payload, Limits(payload_bytes_max=64))


def test_many_blocks_do_not_get_around_the_limit() -> None:
    """The items of an array are counted over its blocks."""
    empty = b"\x00\x00\x02\x02" + bytes(32)  # a cause without names
    payload = payload_of(RunFinished(META, EndOutcome.OK, None, None, None))
    blocks = (b"\x02" + empty) * 5 + b"\x00"
    whole = payload[:CAUSES_AT] + blocks + payload[payload.index(b"\x00" * 32, CAUSES_AT) + 33 :]
    assert len(decode_foreign(whole).meta.causes) == 5
    with pytest.raises(LimitExceeded, match="is 5, the limit is 4"):
        decode_foreign(whole, Limits(items_max=4))


def test_an_unknown_schema_is_named() -> None:
    """Required: the reader stops. Optional: its meta can still be read, so that it can be skipped and counted."""
    record = PAYLOADS[0][5:]
    required, optional = (b"\x00" + number.to_bytes(4, "big") + record for number in (60_000, 70_000))
    with pytest.raises(UnsupportedSchema, match="60000"):
        decode(required)
    with pytest.raises(UnsupportedSchema):
        decode_meta(required)
    with pytest.raises(UnsupportedSchema, match="70000"):
        decode(optional)
    assert not is_optional(required)
    assert is_optional(optional)
    assert decode_meta(optional) == META
