"""What a picker reads is what the full decode reads, and where it does not know, it says so."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schemas_support import CURRENT, any_record, shape
from tachograph.schemas import EvidenceBroken, Pick, SchemaMismatch, decode, encode_record, picker
from tachograph.schemas._registry import SchemaEntry
from tachograph.schemas._shape import Choice, Record, Shape

of_current = pytest.mark.parametrize("entry", CURRENT, ids=lambda entry: entry.tag)
some = settings(max_examples=10, print_blob=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])

YEAR_2001_MS = 978_307_200_000
YEAR_2400_MS = 13_569_465_600_000
usual_times = st.integers(YEAR_2001_MS * 1000, YEAR_2400_MS * 1000)
usual_meta = st.fixed_dictionaries(
    {
        "seq": st.integers(1, 2**40) | st.integers(1, 9000),
        "hlc": st.integers(YEAR_2001_MS << 16, YEAR_2400_MS << 16),
        "incarnation": st.integers(1, 200),
        "recorded_at_us": usual_times,
        "logical_time_us": st.none() | usual_times,
    }
)


def paths_of(name: str, of: Shape) -> list[str]:
    """The parts of the record that a field may be, or the field."""
    within = of.branches[0] if isinstance(of, Choice) and len(of.branches) == 1 else of
    return [f"{name}.{part}" for part, _ in within.fields] if isinstance(within, Record) else [name]


@cache
def pickers(entry: SchemaEntry) -> dict[tuple[str, ...], Pick]:
    """One for every second field, one for the others, one for the parts of fields and one for nothing."""
    fields = shape(entry).fields[1:]
    names = tuple(name for name, _ in fields)
    parts = tuple(path for name, field in fields for path in paths_of(name, field))
    return {paths: picker(entry.type, paths) for paths in (names[::2], names[1::2], parts[::2], parts[1::2], ())}


def at(event: object, path: str) -> object:
    """What the full decode has there."""
    name, _, part = path.partition(".")
    value = getattr(event, name)
    return getattr(value, part) if part and value is not None else value


def assert_as_decoded(payload: bytes, picks: dict[tuple[str, ...], Pick]) -> None:
    """Everything that is picked equals what is decoded."""
    event = decode(payload)
    meta = event.meta
    for paths, pick in picks.items():
        picked = pick(payload)
        if picked is not None:
            seq, hlc, who, told, *values = picked
            assert (seq, hlc, told) == (meta.seq, meta.hlc, meta.logical_time_us)
            assert values == [at(event, path) for path in paths]
            assert all(text.encode() in who for text in (meta.agent_id, meta.run_id, meta.tenant))


@of_current
@given(data=st.data())
@some
def test_what_is_picked_is_what_is_decoded(entry: SchemaEntry, data: st.DataObject) -> None:
    """Whatever the event holds."""
    payload = entry.prefix + encode_record(entry.type, data.draw(any_record(entry)))
    assert_as_decoded(payload, pickers(entry))


@of_current
@given(data=st.data())
@some
def test_usual_events_are_picked(entry: SchemaEntry, data: st.DataObject) -> None:
    """With times of these centuries nothing is left to the full decode."""
    fields = data.draw(any_record(entry))
    assert isinstance(fields["meta"], dict)
    fields["meta"] |= data.draw(usual_meta)
    payload = entry.prefix + encode_record(entry.type, fields)
    assert_as_decoded(payload, pickers(entry))
    assert all(pick(payload) is not None for pick in pickers(entry).values())


@of_current
@given(data=st.data())
@some
def test_a_stream_has_one_name(entry: SchemaEntry, data: st.DataObject) -> None:
    """Other events of the stream are named by the same bytes, those of others by other bytes."""
    one, other = data.draw(any_record(entry)), data.draw(any_record(entry))
    stream = ("agent_id", "incarnation", "run_id", "tenant")
    for fields in (one, other):
        assert isinstance(fields["meta"], dict)
        fields["meta"] |= data.draw(usual_meta)
    if data.draw(st.booleans()):
        other["meta"] |= {name: one["meta"][name] for name in stream}  # type: ignore[operator, index]  # both are dicts
    pick = picker(entry.type, [])
    first, second = (pick(entry.prefix + encode_record(entry.type, fields)) for fields in (one, other))
    assert first is not None
    assert second is not None
    same = all(one["meta"][name] == other["meta"][name] for name in stream)  # type: ignore[index]  # both are dicts
    assert (first[2] == second[2]) == same


@of_current
@given(data=st.data())
@some
def test_broken_bytes_are_left_to_the_full_decode(entry: SchemaEntry, data: st.DataObject) -> None:
    """Cut short, followed by more, or changed: what does not decode is not picked, but for texts that nobody reads."""
    fields = data.draw(any_record(entry))
    assert isinstance(fields["meta"], dict)
    fields["meta"] |= data.draw(usual_meta)
    payload = entry.prefix + encode_record(entry.type, fields)
    cut = payload[: data.draw(st.integers(37, len(payload) - 1))]
    longer = payload + data.draw(st.binary(min_size=1, max_size=3))
    for pick in pickers(entry).values():
        assert pick(cut) is None
        assert pick(longer) is None
    place = data.draw(st.integers(37, len(payload) - 1))
    changed = payload[:place] + bytes([data.draw(st.integers(0, 255))]) + payload[place + 1 :]
    reason = what_is_wrong(changed)
    if not reason:
        assert_as_decoded(changed, pickers(entry))
    elif "UTF-8" not in reason:
        assert all(pick(changed) is None for pick in pickers(entry).values())


def what_is_wrong(payload: bytes) -> str:
    """Why it does not decode; empty where it does."""
    try:
        decode(payload)
    except EvidenceBroken as error:
        return str(error)
    return ""


@of_current
@given(data=st.data())
@some
def test_when_an_event_was_recorded_is_picked(entry: SchemaEntry, data: st.DataObject) -> None:
    """Where nothing caused it from without, and it has no trace and none of the fields that it is not to have."""
    fields = data.draw(any_record(entry))
    assert isinstance(fields["meta"], dict)
    fields["meta"] |= data.draw(usual_meta)
    payload = entry.prefix + encode_record(entry.type, fields)
    without = [name for name, of in shape(entry).fields[1:] if isinstance(of, Choice)][::2]
    names = [name for name, _ in shape(entry).fields[1:] if name not in without]
    event = decode(payload)
    meta = event.meta
    picked = picker(entry.type, names, timed=True, without=without)(payload)
    usual = not meta.causes and meta.trace is None and all(getattr(event, name) is None for name in without)
    expected = (
        meta.seq,
        meta.hlc,
        meta.logical_time_us,
        meta.recorded_at_us,
        *(getattr(event, name) for name in names),
    )
    assert (None if picked is None else (*picked[:2], *picked[3:])) == (expected if usual else None)


def test_a_field_that_is_not_there() -> None:
    """Is named; so is a path into what is no record, and what an event is not to have but always has."""
    with pytest.raises(SchemaMismatch, match="colour"):
        picker("CallStarted", ["colour"])
    with pytest.raises(SchemaMismatch, match="kind"):
        picker("CallStarted", ["kind.of"])
    with pytest.raises(SchemaMismatch, match="Omen"):
        picker("Omen", [])
    with pytest.raises(SchemaMismatch, match="kind"):
        picker("CallStarted", [], without=["kind"])
