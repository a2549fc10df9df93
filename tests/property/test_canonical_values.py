"""Whatever can be recorded comes back exactly, and the fast way writes the same bytes as the slow one."""

from __future__ import annotations

import contextlib
import datetime as dt
import math
from decimal import Decimal
from uuid import UUID
from zoneinfo import ZoneInfo

import orjson
from hypothesis import given, settings
from hypothesis import strategies as st

from tachograph.core.canonical import (
    Digester,
    JsonValue,
    canonical,
    decode_body,
    display,
    encode_body,
    make_body,
    read_body,
)
from tachograph.core.canonical._chunks import CHUNK_BYTES_MAX, cut
from tachograph.core.canonical._reference import serialise
from tachograph.core.canonical._refusal import Refusal
from tachograph.core.errors import UnreadableBody, UnserialisableValue
from tachograph.core.testing import MemoryObjects

thorough = settings(print_blob=True, deadline=None, max_examples=300)

ODD_TEXT = st.text(
    st.sampled_from(
        'ae"\\\n\x00\x7f$ \u0301\u0338\u00e9\u0344\ufb33\ufb20\ue000\uffff\ud83d\ude00\U0001f600\U0001d15e{}:,'
    )
)
STRINGS = st.one_of(st.text(max_size=8), ODD_TEXT)
FLOATS = st.one_of(
    st.floats(),
    st.integers(-(2**60), 2**60).map(float),
    st.floats(1e-8, 1e-4),
    st.floats(1e14, 1e22),
    st.sampled_from([0.0, -0.0, 1e16, 1e-6, 1e21, 5e-324]),
)
INTEGERS = st.one_of(st.integers(), st.sampled_from([2**53, 2**53 - 1, -(2**53), 2**63, 2**64, 10**400]))


def _within(children: st.SearchStrategy[JsonValue]) -> st.SearchStrategy[JsonValue]:
    return st.lists(children, max_size=4) | st.dictionaries(STRINGS, children, max_size=4)


JSON: st.SearchStrategy[JsonValue] = st.recursive(
    st.none() | st.booleans() | INTEGERS | FLOATS | STRINGS, _within, max_leaves=12
)

OFFSETS = st.integers(-86399, 86399).map(lambda seconds: dt.timezone(dt.timedelta(seconds=seconds)))
ZONES = st.one_of(st.none(), st.just(dt.UTC), OFFSETS, st.sampled_from(["Europe/Berlin", "UTC"]).map(ZoneInfo))
SCALARS: st.SearchStrategy[object] = st.one_of(
    st.none(),
    st.booleans(),
    INTEGERS,
    FLOATS,
    STRINGS,
    st.binary(max_size=20),
    st.decimals(),
    st.uuids(),
    st.dates(),
    st.builds(dt.datetime.replace, st.datetimes(), tzinfo=ZONES, fold=st.sampled_from([0, 1])),
    st.builds(dt.time.replace, st.times(), tzinfo=ZONES, fold=st.sampled_from([0, 1])),
    st.timedeltas(),
)
KEYS = st.one_of(STRINGS, st.integers(-9, 9), st.none(), st.binary(max_size=2), st.tuples(STRINGS, st.integers()))
HASHABLE = st.one_of(STRINGS, st.integers(), st.binary(max_size=4), st.frozensets(st.integers(), max_size=3))


def _containers(children: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return st.one_of(
        st.lists(children, max_size=4),
        st.lists(children, max_size=4).map(tuple),
        st.dictionaries(KEYS, children, max_size=4),
        st.dictionaries(STRINGS, children, max_size=4),
        st.dictionaries(st.sampled_from(["$tuple", "$float", "$dict", "$", "$x", "a"]), children, max_size=2),
        st.sets(HASHABLE, max_size=4),
        st.frozensets(HASHABLE, max_size=4),
        st.binary(max_size=8).map(bytearray),
    )


VALUES = st.recursive(SCALARS, _containers, max_leaves=12)


def same(left: object, right: object) -> bool:
    """Whether two values are the same for any control logic: types, order of dicts and NaN included."""
    if type(left) is not type(right):
        return False
    if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return same([*left.items()], [*right.items()])
    if isinstance(left, (float, Decimal)):
        return repr(left) == repr(right)
    if isinstance(left, (dt.datetime, dt.time)) and isinstance(right, (dt.datetime, dt.time)):
        return repr(left) == repr(right) and left.fold == right.fold and type(left.tzinfo) is type(right.tzinfo)
    return left == right


@thorough
@given(VALUES, st.booleans())
def test_a_value_comes_back_as_it_was(value: object, ordered: bool) -> None:
    """Types, signs of zero, NaN, zones, folds, halves of surrogate pairs, and the order of dicts."""
    back = decode_body(encode_body(value, ordered=ordered))
    assert same(back, value) if ordered else encode_body(back, ordered=False) == encode_body(value, ordered=False)


@thorough
@given(VALUES)
def test_bodies_are_canonical_json(value: object) -> None:
    """A body with sorted keys is what RFC 8785 makes of its own JSON; an ordered one differs only in order."""
    data = encode_body(value, ordered=False)
    assert serialise(orjson.loads(data), 200).encode() == data
    ordered = encode_body(value)
    assert serialise(orjson.loads(ordered), 200) == serialise(orjson.loads(encode_body(value)), 200)
    assert len(ordered) == len(data)


def _reversed(value: object) -> object:
    if isinstance(value, dict):
        return dict([(key, _reversed(item)) for key, item in value.items()][::-1])
    if isinstance(value, (list, tuple)):
        return type(value)([_reversed(item) for item in value])
    return value


@thorough
@given(VALUES)
def test_equal_values_have_equal_bytes_where_order_is_no_matter(value: object) -> None:
    """`ordered=False`: whichever order the keys of dicts were inserted in."""
    assert encode_body(_reversed(value), ordered=False) == encode_body(value, ordered=False)


@thorough
@given(JSON)
def test_the_fast_way_writes_what_the_slow_way_writes(value: JsonValue) -> None:
    """`canonical` agrees with the plain transcription of RFC 8785, in results and in refusals."""
    try:
        expected = serialise(value).encode()
    except Refusal:
        expected = None
    try:
        found = canonical(value)
    except UnserialisableValue:
        found = None
    assert found == expected


@thorough
@given(FLOATS)
def test_a_number_reads_back_as_the_same_double(value: float) -> None:
    """The text is the shortest that does."""
    if math.isfinite(value):
        text = canonical(value)
        assert float(text) == value
        assert len(text) <= len(repr(value)) + 16


@thorough
@given(VALUES)
def test_display_never_fails(value: object) -> None:
    """Whatever was recorded can be shown, as JSON."""
    encode_body(display(encode_body(value)))


@thorough
@given(JSON)
def test_foreign_json_never_crashes_the_reader(value: JsonValue) -> None:
    """Bytes that another program wrote decode, or are refused with the one error there is for it."""
    try:
        data = canonical(value)
    except UnserialisableValue:
        return
    with contextlib.suppress(UnreadableBody):
        decode_body(data)


TEXTS = st.lists(
    st.sampled_from([b"}", b",", b"{", b'"', b'","', b"},{", b". ", b"\\n", b"x" * 700, b"word ", b"y" * 9000]),
    max_size=300,
)


@settings(print_blob=True, deadline=None, max_examples=100)
@given(TEXTS)
def test_chunks_make_up_the_body(parts: list[bytes]) -> None:
    """Nothing is lost, nothing is too large, and cutting is a function of the bytes."""
    data = b"".join(parts)
    chunks = cut(data)
    assert b"".join(chunks) == data
    assert all(0 < len(chunk) <= CHUNK_BYTES_MAX for chunk in chunks)
    assert cut(data) == chunks
    body, puts = make_body(data, redacted=False, digester=Digester(bytes(32)))
    objects = MemoryObjects()
    for key, chunk in puts:
        objects.put(key, chunk)
    assert read_body(body, objects, Digester(bytes(32)), "e") == data


def test_the_uuid_of_a_body_is_a_uuid() -> None:
    """A type that JSON writers are keen to turn into text stays what it is, in a key as well."""
    value = {UUID(int=7): [UUID(int=8)]}
    assert decode_body(encode_body(value)) == value
