"""Encoding takes exactly the fields of a type; decoding says which version it read."""

from __future__ import annotations

import copy
import pickle

import pytest

from schemas_support import EXAMPLES, INLINE, META, past_examples, payload_of, reference_write
from tachograph import schemas
from tachograph.schemas import (
    CONTENT_OFFSET,
    GAP_MAX,
    CallFinished,
    CallStarted,
    CorruptPayload,
    Event,
    SchemaMismatch,
    decode,
    decode_meta,
    encode_record,
    fields_of,
    is_optional,
    prefix_of,
    schema_tag,
    was_upcast,
)

by_type = pytest.mark.parametrize("event", EXAMPLES, ids=lambda event: type(event).__name__)

CALL = CallStarted(META, "tool", "send_mail", None, "write", "k", 1, schemas.ToolRequest("1", None), INLINE)


@by_type
def test_an_event_comes_back_as_it_was(event: Event) -> None:
    """Equal, of the same class, and as frozen as one that was made by hand."""
    payload = payload_of(event)
    again = decode(payload)
    assert again == event
    assert hash(again) == hash(event)
    assert repr(again) == repr(event)
    assert copy.deepcopy(again) == pickle.loads(pickle.dumps(again)) == event
    with pytest.raises(AttributeError):
        again.meta = META  # type: ignore[misc]  # that it cannot be is the point
    assert not was_upcast(payload)
    assert not is_optional(payload)
    assert schema_tag(payload).split("/")[0] == type(event).__name__


@by_type
def test_a_missing_or_an_unknown_field_is_an_error(event: Event) -> None:
    """No default is taken in silence, and nothing is dropped."""
    name, fields = type(event).__name__, fields_of(event)
    for field in fields:
        with pytest.raises(SchemaMismatch, match=f"missing fields: {field}"):
            encode_record(name, {key: value for key, value in fields.items() if key != field})
    with pytest.raises(SchemaMismatch, match="unknown fields: colour"):
        encode_record(name, fields | {"colour": 1})
    renamed = {("colour" if key == "meta" else key): value for key, value in fields.items()}
    with pytest.raises(SchemaMismatch, match="'meta'"):
        encode_record(name, renamed)
    with pytest.raises(SchemaMismatch, match="missing fields: trace"):
        encode_record(name, fields | {"meta": {k: v for k, v in fields_of_meta(event).items() if k != "trace"}})


def fields_of_meta(event: Event) -> dict[str, object]:
    """The meta's fields."""
    meta = fields_of(event)["meta"]
    assert isinstance(meta, dict)
    return meta


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("name", None, "encode"),
        ("name", b"bytes", "encode"),
        ("name", "\ud800", "surrogates"),
        ("attempt", "1", "not supported"),
        ("attempt", 1.5, "indices must be integers"),
        ("attempt", 1 << 63, "does not fit into 64 bits"),
        ("attempt", None, "not supported"),
        ("kind", "telephone", "'telephone' is not one of model, tool"),
        ("effect", None, "None is not one of none, read, write"),
        ("details", ("tachograph.ModelResponse", {}), "tachograph.ModelResponse"),
        ("details", ("tachograph.ToolRequest", {"schema_version": None}), "missing fields: permission"),
        ("details", {"schema_version": None, "permission": None}, "no field or branch"),
        ("arguments", None, "NoneType"),
        ("arguments", INLINE, "Body"),
    ],
)
def test_a_value_that_does_not_fit_is_an_error(field: str, value: object, reason: str) -> None:
    """It names the type, and says why."""
    with pytest.raises(SchemaMismatch, match=reason) as caught:
        encode_record("CallStarted", fields_of(CALL) | {field: value})
    assert "'CallStarted'" in str(caught.value)


@pytest.mark.parametrize(
    ("part", "value", "reason"),
    [
        ("digest", b"short", "5 bytes where 32 are needed"),
        ("redacted", 2, "2"),
        ("inline", "text", "bytes-like|concat"),
    ],
)
def test_a_part_that_does_not_fit_is_an_error(part: str, value: object, reason: str) -> None:
    """In the parts of an event, too."""
    arguments = fields_of(CALL)["arguments"]
    assert isinstance(arguments, dict)
    with pytest.raises(SchemaMismatch, match=reason):
        encode_record("CallStarted", fields_of(CALL) | {"arguments": arguments | {part: value}})


def test_there_are_no_other_event_types() -> None:
    """The error names those that there are."""
    for call in (lambda: encode_record("CallLost", {}), lambda: prefix_of("CallLost")):
        with pytest.raises(SchemaMismatch, match=r"'CallLost'.*AgentFinished, AgentStarted"):
            call()


def test_a_branch_of_similar_records_is_picked_by_name() -> None:
    """Details with the same fields stay what they were."""
    for details in (schemas.RandomRequest("dice"), schemas.ApprovalRequest(bytes(32)), schemas.ToolRequest(None, None)):
        event = CallStarted(META, "tool", "roll", None, "none", None, 1, details, INLINE)
        assert decode(payload_of(event)) == event


def test_the_meta_is_read_without_the_rest() -> None:
    """What follows the meta need not even be there."""
    payload = payload_of(CALL)
    end = payload.index(b"send_mail") - 2
    assert decode_meta(payload[:end]) == META
    with pytest.raises(CorruptPayload):
        decode_meta(payload[: end - 1])


def test_content_starts_behind_the_hash() -> None:
    """The first thing in it is the seq."""
    assert payload_of(CALL)[CONTENT_OFFSET] == META.seq << 1


def test_a_past_version_becomes_the_current_class() -> None:
    """A call's end from before loop turns were counted: its delivery counts as apart, its result as recorded."""
    [(entry, fields)] = past_examples()
    assert entry.tag == "CallFinished/1"
    payload = entry.prefix + reference_write(entry, fields)
    event = decode(payload)
    assert isinstance(event, CallFinished)
    assert (event.gap, event.unrecorded) == (GAP_MAX, None)
    assert {name: fields_of(event)[name] for name in fields} == fields
    assert was_upcast(payload)
    assert schema_tag(payload) == "CallFinished/1"
    assert prefix_of("CallFinished") != payload[:5]
    assert decode_meta(payload) == META
