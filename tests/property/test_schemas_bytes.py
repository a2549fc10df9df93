"""What the compiled codec writes is what fastavro writes, and what it reads is what was written."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schemas_support import ALL, CURRENT, any_record, reference_read, reference_write
from tachograph.schemas import (
    CONTENT_OFFSET,
    GAP_MAX,
    HASH,
    decode,
    decode_foreign,
    decode_meta,
    encode_record,
    fields_of,
    schema_tag,
    was_upcast,
)
from tachograph.schemas._registry import SchemaEntry

of_all = pytest.mark.parametrize("entry", ALL, ids=lambda entry: entry.tag)
of_current = pytest.mark.parametrize("entry", CURRENT, ids=lambda entry: entry.tag)
some = settings(max_examples=30, print_blob=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@of_current
@given(data=st.data())
@some
def test_encoding_writes_the_bytes_of_the_reference(entry: SchemaEntry, data: st.DataObject) -> None:
    """The bytes are fastavro's, byte for byte, and fastavro reads the fields back."""
    fields = data.draw(any_record(entry))
    record = encode_record(entry.type, fields)
    assert record == reference_write(entry, fields)
    assert reference_read(entry, record) == fields


@of_all
@given(data=st.data())
@some
def test_decoding_gives_what_was_encoded(entry: SchemaEntry, data: st.DataObject) -> None:
    """Every field comes back, in its class, from every version; what a past version lacks is filled in."""
    fields = data.draw(any_record(entry))
    payload = entry.prefix + reference_write(entry, fields)
    event = decode(payload)
    assert type(event).__name__ == entry.type
    assert fields_of(event) == fields | ({"gap": GAP_MAX, "unrecorded": None} if was_upcast(payload) else {})
    assert decode_foreign(payload) == event
    assert decode_meta(payload) == event.meta
    assert schema_tag(payload) == f"{entry.type}/{entry.version}"


@of_current
@given(data=st.data())
@settings(some, max_examples=5)
def test_the_hash_can_be_put_in_afterwards(entry: SchemaEntry, data: st.DataObject) -> None:
    """The hash lies at one place, and another hash there changes nothing else."""
    payload = entry.prefix + encode_record(entry.type, data.draw(any_record(entry)))
    event = decode(payload)
    assert payload[HASH] == event.meta.hash
    other = payload[: HASH.start] + bytes(32) + payload[CONTENT_OFFSET:]
    assert decode(other) == dataclasses.replace(event, meta=dataclasses.replace(event.meta, hash=bytes(32)))
