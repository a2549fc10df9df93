"""A meta that is read in one go is the one that the reference reads field by field; what is unusual is left to others."""

from __future__ import annotations

import io
from typing import cast

import fastavro
from hypothesis import given, settings
from hypothesis import strategies as st

from tachograph.schemas import CONTENT_OFFSET, encode_record
from tachograph.schemas._meta import usual_meta
from tachograph.schemas._registry import current, schema_of

START = 5
YEAR_2001_MS = 978_307_200_000
YEAR_2400_MS = 13_569_465_600_000
TIMES = st.integers(YEAR_2001_MS * 1000, YEAR_2400_MS * 1000)
LONG = st.integers(-(1 << 63), (1 << 63) - 1)
ENTRY = current()["TimerFired"]
FIELDS = cast("list[dict[str, object]]", cast("dict[str, object]", schema_of(ENTRY))["fields"])
SCHEMA = cast("dict[str, object]", fastavro.parse_schema(cast("dict[str, object]", FIELDS[0]["type"])))

metas = st.fixed_dictionaries(
    {
        "hash": st.binary(min_size=32, max_size=32),
        "seq": st.integers(1, 2**40) | st.integers(1, 20_000) | LONG,
        "hlc": st.integers(YEAR_2001_MS << 16, YEAR_2400_MS << 16) | LONG,
        "agent_id": st.text(max_size=20) | st.text(max_size=70),
        "incarnation": st.integers(1, 63) | LONG,
        "run_id": st.text(max_size=40),
        "tenant": st.text(max_size=10),
        "causes": st.just([]),
        "recorded_at_us": TIMES | LONG,
        "logical_time_us": st.none() | TIMES | LONG,
        "trace": st.none() | st.text(max_size=5),
    }
)


def payload_with(meta: dict[str, object]) -> bytes:
    """An event with this meta."""
    return ENTRY.prefix + encode_record("TimerFired", {"meta": meta, "number": 1, "delay_us": 2, "gap": 3})


def assert_as_reference(data: bytes) -> bool:
    """What is read is what fastavro reads, to the same byte; whether anything was."""
    found = usual_meta(data, START)
    if found is None:
        return False
    meta, end = found
    file = io.BytesIO(data)
    file.seek(START)
    expected = cast("dict[str, object]", fastavro.schemaless_reader(file, SCHEMA, None))
    assert {name: getattr(meta, name) for name in expected} == {**expected, "causes": ()}
    assert file.tell() == end
    return True


@given(metas)
@settings(max_examples=200, print_blob=True, deadline=None)
def test_any_meta(meta: dict[str, object]) -> None:
    """Whatever its fields hold."""
    assert_as_reference(payload_with(meta))


@given(metas, st.data())
@settings(max_examples=200, print_blob=True, deadline=None)
def test_damaged_bytes(meta: dict[str, object], data: st.DataObject) -> None:
    """Nothing is read of a meta that is cut short, or otherwise than by the reference where a byte is another one."""
    whole = payload_with(meta)
    at = data.draw(st.integers(CONTENT_OFFSET, len(whole) - 1))
    changed = whole[:at] + bytes([data.draw(st.integers(0, 255))]) + whole[at + 1 :]
    assert_as_reference(changed)
    found = usual_meta(whole, START)
    if found is not None:
        assert usual_meta(whole[: data.draw(st.integers(0, found[1] - 1))], START) is None


@given(st.integers(1, 20_000), st.integers(YEAR_2001_MS << 16, YEAR_2400_MS << 16), TIMES, st.none() | TIMES)
@settings(max_examples=100, print_blob=True, deadline=None)
def test_what_a_recorder_writes_is_usual(seq: int, hlc: int, at_us: int, told_us: int | None) -> None:
    """Or nothing would be gained."""
    who = {"agent_id": "worker", "incarnation": 2, "run_id": f"run-{seq}", "tenant": "default"}
    when = {"recorded_at_us": at_us, "logical_time_us": told_us, "trace": None}
    assert assert_as_reference(payload_with({"hash": bytes(32), "seq": seq, "hlc": hlc, **who, "causes": [], **when}))
