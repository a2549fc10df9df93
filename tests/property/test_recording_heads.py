"""An event encoded in two parts, as the recorder does, has the bytes of the event encoded as a whole."""

from __future__ import annotations

from typing import cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schemas_support import CURRENT, any_record, shape
from tachograph.schemas import CallEncoder, Cause, HeadEncoder, SchemaMismatch, encode_record, encode_rest
from tachograph.schemas._registry import SchemaEntry, current
from tachograph.schemas._shape import Enumeration


def _symbols(event_type: str, field: str) -> tuple[str, ...]:
    return cast("Enumeration", dict(shape(current()[event_type]).fields)[field]).symbols


@pytest.mark.parametrize("entry", CURRENT, ids=lambda entry: entry.tag)
@given(data=st.data())
@settings(max_examples=15, print_blob=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_head_and_rest_make_the_whole(entry: SchemaEntry, data: st.DataObject) -> None:
    """Whatever a stream's meta and an event's fields hold."""
    fields = data.draw(any_record(entry))
    meta = cast("dict[str, object]", fields["meta"])
    causes = tuple(Cause(**cause) for cause in cast("list[dict[str, object]]", meta["causes"]))  # type: ignore[arg-type]
    encoder = HeadEncoder(meta["agent_id"], meta["incarnation"], meta["run_id"], meta["tenant"])  # type: ignore[arg-type]
    head = encoder.encode(
        meta["seq"], meta["hlc"], causes, meta["recorded_at_us"], meta["logical_time_us"], meta["trace"],  # type: ignore[arg-type]
    )  # fmt: skip
    rest = encode_rest(entry.type, {name: value for name, value in fields.items() if name != "meta"})
    assert cast("bytes", meta["hash"]) + head + rest == encode_record(entry.type, fields | {"meta": meta})


def test_fields_that_do_not_fit_are_refused() -> None:
    """As where an event is encoded as a whole: by name."""
    with pytest.raises(SchemaMismatch, match="number"):
        encode_rest("TimerFired", {"delay_us": 1, "gap": 0})
    with pytest.raises(SchemaMismatch, match="event types"):
        encode_rest("Nonsense", {})


CLOCKS = st.integers(-(1 << 63), (1 << 63) - 1) | st.integers(0, 1 << 30) | st.integers(1_772_355_000_000_000, 1 << 59)


@given(clocks=st.lists(st.tuples(CLOCKS, CLOCKS) | st.just((1 << 58, 1 << 51)), min_size=1, max_size=8))
@settings(max_examples=100, print_blob=True, deadline=None)
def test_one_stream_s_encoder_keeps_nothing_that_is_over(clocks: list[tuple[int, int]]) -> None:
    """However its clocks go on, forwards or backwards: a meta does not depend on those before it."""
    encoder = HeadEncoder("agent", 1, "run", "tenant")
    for seq, (hlc, recorded_at_us) in enumerate(clocks, 1):
        alone = HeadEncoder("agent", 1, "run", "tenant").encode(seq, hlc, (), recorded_at_us, None)
        assert encoder.encode(seq, hlc, (), recorded_at_us, None) == alone


def test_a_clock_beyond_64_bits_is_refused() -> None:
    """Whatever the encoder has seen before."""
    encoder = HeadEncoder("agent", 1, "run", "tenant")
    encoder.encode(1, 1 << 58, (), 1 << 51, None)
    with pytest.raises(OverflowError):
        encoder.encode(2, 1 << 63, (), 1 << 51, None)


LONGS = st.integers(-(1 << 63), (1 << 63) - 1) | st.integers(-200, 20_000)
DIGESTS = st.binary(min_size=32, max_size=32)
PAYLOADS = st.binary(max_size=300) | st.sampled_from([b"x" * 8191, b"x" * 8192, b"x" * 16_384])


@given(
    how=st.tuples(
        st.sampled_from(_symbols("CallStarted", "kind")),
        st.text(max_size=80),
        st.none() | st.text(max_size=20),
        st.sampled_from(_symbols("CallStarted", "effect")),
    ),
    digest=DIGESTS,
    data=PAYLOADS,
)
@settings(max_examples=100, print_blob=True, deadline=None)
def test_a_plain_call_s_start_is_encoded_as_any_other(
    how: tuple[str, str, str | None, str], digest: bytes, data: bytes
) -> None:
    """What `CallEncoder` gives is what `encode_rest` gives."""
    kind, name, version, effect = how
    fields = {
        "kind": kind, "name": name, "version": version, "effect": effect, "idempotency_key": None, "attempt": 1,
        "details": None, "arguments": _body(digest, data),
    }  # fmt: skip
    encoder = CallEncoder()
    assert encoder.started(b"head", encoder.opening(*how), digest, data) == b"head" + encode_rest("CallStarted", fields)


@given(
    call_id=LONGS, outcome=st.sampled_from(_symbols("CallFinished", "outcome")), yields=LONGS, gap=LONGS,
    digest=DIGESTS, data=PAYLOADS,
)  # fmt: skip
@settings(max_examples=100, print_blob=True, deadline=None)
def test_a_plain_call_s_end_is_encoded_as_any_other(
    call_id: int, outcome: str, yields: int, gap: int, digest: bytes, data: bytes
) -> None:
    """What `CallEncoder` gives is what `encode_rest` gives."""
    fields = {
        "call_id": call_id, "outcome": outcome, "yields": yields, "gap": gap, "chunks": 0, "unrecorded": None,
        "usage": None, "details": None, "error": None, "receipt": None, "result": _body(digest, data),
    }  # fmt: skip
    finished = CallEncoder().finished(b"head", (call_id, outcome, yields, gap), digest, data)
    assert finished == b"head" + encode_rest("CallFinished", fields)


def test_a_plain_call_that_does_not_fit_is_refused() -> None:
    """A number beyond 64 bits, an outcome or a kind that there is not."""
    encoder = CallEncoder()
    with pytest.raises(SchemaMismatch, match="64 bits"):
        encoder.finished(b"", (1, "OK", 1 << 63, 0), bytes(32), b"1")
    with pytest.raises(SchemaMismatch, match="GREAT"):
        encoder.finished(b"", (1, "GREAT", 0, 0), bytes(32), b"1")
    with pytest.raises(SchemaMismatch, match="nonsense"):
        encoder.opening("nonsense", "name", None, "none")


def _body(digest: bytes, data: bytes) -> dict[str, object]:
    return {"digest": digest, "size": len(data), "redacted": False, "inline": data, "chunks": ()}
