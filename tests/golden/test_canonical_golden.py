"""Bodies that this release wrote stay readable, and are written the same, for ever."""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
from decimal import Decimal
from typing import NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

import pydantic

from tachograph.core.canonical import Digester, decode_body, encode_body, make_body

VALUE = {
    "z": [None, True, False, 0, -1, 2**53 - 1, 2**53, 2**600],
    "a": [0.5, 1e-5, 1.0, -0.0, 1e-7, 1e22, float("inf"), -3.25],
    "text": ["plain", "caf\u00e9", "e\u0301", "\ud83d", "\U0001f600", "\x00\x1f\x7f\u2028", '"\\/'],
    "$tag": (1, (2, [3])),
    7: {b"\x00\xff": bytearray(b"x")},
    ("k", 1): {3, 1, 2},
    "f": frozenset({"b", "a"}),
    "d": [Decimal("1.50"), Decimal("-0"), Decimal("1E+3"), Decimal("NaN")],
    "u": UUID("12345678-1234-5678-1234-567812345678"),
    "t": [
        dt.datetime(2026, 3, 1, 9, 30, 0, 7),  # noqa: DTZ001  # a time without zone stays one
        dt.datetime(2026, 3, 1, tzinfo=dt.UTC),
        dt.datetime(2026, 3, 1, tzinfo=dt.timezone(dt.timedelta(hours=-3, minutes=-30))),
        dt.datetime(2026, 10, 25, 2, 30, tzinfo=ZoneInfo("Europe/Berlin"), fold=1),
        dt.date(2026, 3, 1),
        dt.time(9, 30, 0, 7),
        dt.timedelta(days=-1, seconds=2, microseconds=3),
    ],
}

WRITTEN = (
    '{"$dict":[["z",[null,true,false,0,-1,9007199254740991,{"$int":"9007199254740992"},{"$int":"0x1'
    + "0" * 150
    + '"}]],["a",[0.5,0.00001,{"$float":"1.0"},{"$float":"-0.0"},{"$float":"1e-07"},{"$float":"1e+22"},'
    '{"$float":"inf"},-3.25]],["text",["plain","caf\u00e9",{"$str":"e\\\\u0301"},{"$str":"\\\\ud83d"},"\U0001f600",'
    '"\\u0000\\u001f\x7f\u2028","\\"\\\\/"]],["$tag",{"$tuple":[1,{"$tuple":[2,[3]]}]}],'
    '[7,{"$dict":[[{"$bytes":"AP8="},{"$bytearray":"eA=="}]]}],[{"$tuple":["k",1]},{"$set":[1,2,3]}],'
    '["f",{"$frozenset":["a","b"]}],["d",[{"$decimal":"1.50"},{"$decimal":"-0"},{"$decimal":"1E+3"},'
    '{"$decimal":"NaN"}]],["u",{"$uuid":"12345678-1234-5678-1234-567812345678"}],'
    '["t",[{"$datetime":"2026-03-01T09:30:00.000007"},{"$datetime":"2026-03-01T00:00:00+00:00"},'
    '{"$datetime":"2026-03-01T00:00:00-03:30"},{"$datetime":"2026-10-25T02:30:00+01:00[Europe/Berlin];fold=1"},'
    '{"$date":"2026-03-01"},{"$time":"09:30:00.000007"},{"$timedelta":[-1,2,3]}]]]}'
).encode()


def test_every_type_is_written_as_it_always_was() -> None:
    """The bytes that digests are made over never change."""
    assert encode_body(VALUE) == WRITTEN


def test_every_type_is_read_as_it_always_was() -> None:
    """An upgrade makes no old run unreadable."""
    assert repr(decode_body(WRITTEN)) == repr(VALUE)


def test_chunks_are_cut_where_they_always_were() -> None:
    """A conversation that was recorded by an older release shares its chunks with what a newer one records."""
    lines = [f"line {number} of a text that is long enough to be cut. " * (number % 7 + 1) for number in range(200)]
    body, puts = make_body(encode_body([{"n": line} for line in lines]), redacted=False, digester=Digester(bytes(32)))
    assert body.digest.hex() == "fe17a156d58e216791857f8d19dc24dee0be386f77f6d44a8d19590ef3ef054c"
    assert (body.size, len(body.chunks), len(puts)) == (41072, 3, 3)
    assert body.chunks[0].hex() == "d77f4025e777f3de59598a26aa0aab37086733b61035d5c91830f467b74099b5"


@dataclasses.dataclass(frozen=True, slots=True)
class Line:
    """A dataclass."""

    text: str
    amount: Decimal


class Colour(enum.Enum):
    """An enumeration."""

    RED = 1


class May(enum.Flag):
    """Flags."""

    READ = 1
    WRITE = 2


class Place(NamedTuple):
    """A named tuple."""

    row: int
    seats: tuple[str, ...]


class Part(pydantic.BaseModel):
    """A model that keeps what it does not know."""

    model_config = pydantic.ConfigDict(extra="allow")
    text: str
    index: int | None = None


class Reply(pydantic.BaseModel):
    """A model with a private value."""

    parts: list[Part]
    _id: int = pydantic.PrivateAttr(default=7)


OBJECTS = [
    Line("a", Decimal("1.50")),
    Colour.RED,
    May.READ | May.WRITE,
    Place(1, ("a", "b")),
    Reply(parts=[Part(text="a", index=1), Part.model_validate({"text": "b", "more": [1.0]})]),
]
OBJECTS_WRITTEN = (
    '[{"$object":["M:Line",{"text":"a","amount":{"$decimal":"1.50"}}]},{"$object":["M:Colour","RED"]},'
    '{"$object":["M:May",3]},{"$object":["M:Place",{"row":1,"seats":{"$tuple":["a","b"]}}]},'
    '{"$object":["M:Reply",{"parts":[{"$object":["M:Part",{"text":"a","index":1}]},'
    '{"$object":["M:Part",{"text":"b","index":null},{"extra":{"more":[{"$float":"1.0"}]},"set":["more","text"]}]}]},'
    '{"private":{"_id":7}}]}]'
).replace("M:", __name__ + ":")


def test_objects_are_written_and_read_as_they_always_were() -> None:
    """Dataclasses, members, named tuples and models."""
    assert encode_body(OBJECTS).decode() == OBJECTS_WRITTEN
    assert decode_body(OBJECTS_WRITTEN.encode()) == OBJECTS
