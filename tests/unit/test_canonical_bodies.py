"""Bodies bring values back exactly, and say clearly what they cannot write or read."""

from __future__ import annotations

import datetime as dt
import enum
from dataclasses import dataclass
from decimal import Decimal
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest

from tachograph.core.canonical import decode_body, display, encode_body, register_codec
from tachograph.core.errors import InvalidSetting, UnreadableBody, UnserialisableValue


class Colour(enum.Enum):
    """An enumeration."""

    RED = "red"


class Size(enum.StrEnum):
    """An enumeration whose members are strings."""

    LARGE = "large"


class Level(enum.IntEnum):
    """An enumeration whose members are integers."""

    HIGH = 3


@dataclass(frozen=True)
class Point:
    """A value of a caller's own."""

    x: int
    y: float


class Text(str):
    """A subclass of a built-in type."""

    __slots__ = ()


register_codec("test.Colour", Colour, lambda member: member.value, Colour)
register_codec("test.Size", Size, lambda member: member.value, lambda plain: Size(str(plain)))
register_codec("test.Level", Level, int, lambda plain: Level(int(str(plain))))
register_codec("test.Point", Point, lambda point: (point.x, point.y), lambda plain: Point(*plain))  # type: ignore[misc]

BERLIN = ZoneInfo("Europe/Berlin")

WRITTEN = [
    ((1, "a"), b'{"$tuple":[1,"a"]}'),
    (3.0, b'{"$float":"3.0"}'),
    (-0.0, b'{"$float":"-0.0"}'),
    (0.5, b"0.5"),
    (1e-7, b'{"$float":"1e-07"}'),
    (2**53, b'{"$int":"9007199254740992"}'),
    (2**53 - 1, b"9007199254740991"),
    (b"hi", b'{"$bytes":"aGk="}'),
    (bytearray(b"hi"), b'{"$bytearray":"aGk="}'),
    ({3, 1, 2}, b'{"$set":[1,2,3]}'),
    (frozenset({2, 1}), b'{"$frozenset":[1,2]}'),
    (Decimal("1.50"), b'{"$decimal":"1.50"}'),
    (UUID(int=1), b'{"$uuid":"00000000-0000-0000-0000-000000000001"}'),
    (dt.date(2026, 3, 1), b'{"$date":"2026-03-01"}'),
    (dt.time(9, 30), b'{"$time":"09:30:00"}'),
    (dt.datetime(2026, 3, 1, 9, 30), b'{"$datetime":"2026-03-01T09:30:00"}'),  # noqa: DTZ001
    (dt.datetime(2026, 3, 1, tzinfo=dt.UTC), b'{"$datetime":"2026-03-01T00:00:00+00:00"}'),
    (
        dt.datetime(2026, 10, 25, 2, 30, tzinfo=BERLIN, fold=1),
        b'{"$datetime":"2026-10-25T02:30:00+01:00[Europe/Berlin];fold=1"}',
    ),
    (dt.timedelta(-1, 2, 3), b'{"$timedelta":[-1,2,3]}'),
    ({1: "a", None: "b"}, b'{"$dict":[[1,"a"],[null,"b"]]}'),
    ({"$ref": "#/x"}, b'{"$dict":[["$ref","#/x"]]}'),
    ({"price": "$12"}, b'{"price":"$12"}'),
    ("e\u0301", b'{"$str":"e\\\\u0301"}'),
    ("\ud83d", b'{"$str":"\\\\ud83d"}'),
    (Colour.RED, b'{"$object":["test.Colour","red"]}'),
    (Size.LARGE, b'{"$object":["test.Size","large"]}'),
    (Level.HIGH, b'{"$object":["test.Level",3]}'),
    (Point(1, 2.0), b'{"$object":["test.Point",{"$tuple":[1,{"$float":"2.0"}]}]}'),
]


@pytest.mark.parametrize(("value", "data"), WRITTEN, ids=[data.decode()[:40] for _, data in WRITTEN])
def test_typed_values_are_written_and_read_back(value: object, data: bytes) -> None:
    """Each type has its tag, and comes back with its type."""
    assert encode_body(value) == data
    back = decode_body(data)
    assert back == value
    assert type(back) is type(value)
    assert repr(back) == repr(value)


def test_the_order_of_a_dict_survives_where_it_can_be_seen() -> None:
    """A dict that control logic is handed has the order it had; in arguments that are only compared order is no matter."""
    value = {"role": "user", "content": {"z": 1, "a": 2}}
    data = encode_body(value)
    assert data == b'{"role":"user","content":{"z":1,"a":2}}'
    assert list(decode_body(data)) == ["role", "content"]  # type: ignore[call-overload]
    assert encode_body(value, ordered=False) == b'{"content":{"a":2,"z":1},"role":"user"}'


def test_unordered_keys_beyond_the_basic_plane_are_sorted_by_utf_16() -> None:
    """`ordered=False` sorts as RFC 8785 does."""
    data = encode_body({"\uffe5": 1, "\U0001f600": 2}, ordered=False)
    assert data.index("\U0001f600".encode()) < data.index("\uffe5".encode())


def test_zones_come_back_as_zones() -> None:
    """Arithmetic across a change of summer time gives the same result after a replay."""
    before = dt.datetime(2026, 3, 28, 12, tzinfo=BERLIN)
    back = decode_body(encode_body(before))
    assert isinstance(back, dt.datetime)
    assert back.tzinfo is BERLIN
    assert (back + dt.timedelta(days=1)).utcoffset() == dt.timedelta(hours=2)


@pytest.mark.parametrize(
    ("value", "path", "reason"),
    [
        ({"args": [1, {"x": object()}]}, "$.args[1].x", "no codec is registered"),
        ({"a b": [object()]}, "$['a b'][0]", "no codec is registered"),
        ({2: object()}, "$[2]", "no codec is registered"),
        ([Text("a")], "$[0]", "subclass of str"),
        ([dt.datetime(2026, 1, 1, tzinfo=dt.timezone(dt.timedelta(0), "own"))], "$[0]", "name of its own"),
        (Exception("secret"), "$", "no codec is registered"),
        (print, "$", "no codec is registered"),
    ],
)
def test_what_cannot_be_written_is_named(value: object, path: str, reason: str) -> None:
    """The error says where the value stands, what it is, and what to do."""
    with pytest.raises(UnserialisableValue) as caught:
        encode_body(value)
    assert caught.value.path == path
    assert reason in caught.value.reason
    assert "register_codec" in str(caught.value)


def test_cycles_and_depth_are_refused() -> None:
    """A value within itself, and one too deep, are told apart."""
    cycle: dict[str, object] = {"a": []}
    cycle["a"] = [cycle]
    with pytest.raises(UnserialisableValue, match=r"at \$\.a\[0\].*contains itself"):
        encode_body(cycle)
    shared: object = [1]
    for _ in range(70):
        shared = [shared, shared]
    with pytest.raises(UnserialisableValue, match=r"64 levels deep|1000000 values"):
        encode_body(shared)
    deep: object = 1
    for _ in range(64):
        deep = [deep]
    assert decode_body(encode_body(deep)) == deep
    with pytest.raises(UnserialisableValue, match="more than 64 levels deep"):
        encode_body([deep])


def test_the_deepest_tagged_value_is_written() -> None:
    """64 levels of the tag that takes most room stay within what the JSON writer takes."""
    deep: object = 1
    for _ in range(64):
        deep = {1: deep}
    assert decode_body(encode_body(deep)) == deep
    assert decode_body(encode_body({"k\U0001f600": deep[1]}, ordered=False))  # type: ignore[index]


def test_shared_values_that_would_blow_up_are_refused() -> None:
    """A few lists that share each other would be 2**40 values: refused, at once."""
    value: object = [1]
    for _ in range(40):
        value = [value, value]
    with pytest.raises(UnserialisableValue, match="more than 1000000 values"):
        encode_body(value)


def test_huge_integers_come_back() -> None:
    """No limit on digits applies."""
    value = -(7**9000)
    assert decode_body(encode_body([value])) == [value]


def test_a_body_is_fresh_each_time_it_is_decoded() -> None:
    """Changing one decoded value changes no other."""
    data = encode_body({"a": [1]})
    first = decode_body(data)
    first["a"].append(2)  # type: ignore[index]
    assert decode_body(data) == {"a": [1]}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b'{"$object":["no.such",1]}', "no codec 'no.such' is registered in this process"),
        (b'{"$later":1}', "the tag '\\$later' is not known to this release"),
        (b'{"a":1,"$tuple":[]}', "the tag '\\$tuple' is not known"),
        (b'{"$tuple":1}', "malformed"),
        (b'{"$decimal":"x"}', "malformed"),
        (b'{"$str":"\\\\q"}', "malformed"),
        (b'{"$datetime":"2026-01-01T00:00:00+01:00[../../etc/passwd]"}', "malformed"),
        (b'{"$datetime":"2026-01-01T00:00:00+01:00[No/Where]"}', "malformed"),
        (b'{"$object":["test.Colour","green"]}', "codec 'test.Colour' failed with ValueError"),
        (b'{"$tuple":[' * 300 + b"]}" * 300, "nested too deeply"),
        (b'{"$dict":[[[1],2]]}', "malformed"),
        (b"{", "not JSON"),
        (b"[" * 2000 + b"]" * 2000, "not JSON"),
    ],
)
def test_what_cannot_be_read_is_an_error_and_never_a_bare_dict(data: bytes, message: str) -> None:
    """Unknown tags, unknown codecs, malformed contents and broken JSON each say what they are."""
    with pytest.raises(UnreadableBody, match=message):
        decode_body(data)


def test_codec_names_are_guarded() -> None:
    """A name belongs to one class, a class has one codec, built-in types need none."""
    with pytest.raises(InvalidSetting, match="belongs to .*Colour"):
        register_codec("test.Colour", Text, str, lambda plain: Text(str(plain)))
    with pytest.raises(InvalidSetting, match=r"already has the codec 'test\.Colour'"):
        register_codec("test.Other", Colour, lambda member: member.value, Colour)
    with pytest.raises(InvalidSetting, match="recorded as they are"):
        register_codec("test.Dict", dict, dict, dict)  # type: ignore[arg-type]
    with pytest.raises(InvalidSetting, match="use 1 to 100 letters"):
        register_codec("no spaces", Text, str, lambda plain: Text(str(plain)))


def test_a_class_that_was_loaded_anew_takes_its_predecessors_codec() -> None:
    """Hot reload: the same name for the same home of a class is no conflict."""

    def load() -> type[object]:
        class Reloaded:
            def __eq__(self, other: object) -> bool:
                return type(self) is type(other)

            __hash__ = None  # type: ignore[assignment]

        return Reloaded

    old, new = load(), load()
    register_codec("test.Reloaded", old, lambda _: 0, lambda _: old())
    register_codec("test.Reloaded", new, lambda _: 0, lambda _: new())
    assert decode_body(encode_body(new())) == new()


def test_a_failing_codec_is_named() -> None:
    """An exception in `to_plain` says whose codec it was."""

    class Broken:
        pass

    def fail(_: Broken) -> object:
        raise RuntimeError("inside")

    register_codec("test.Broken", Broken, fail, lambda _: Broken())
    with pytest.raises(UnserialisableValue, match=r"at \$\[0\].*codec 'test\.Broken' failed with RuntimeError"):
        encode_body([Broken()])


def test_display_shows_what_a_person_expects() -> None:
    """No tag is left; times, decimals and bytes are text, tuples and sets are lists."""
    value = {
        "t": (1, 2.0),
        "s": {2, 1},
        "d": Decimal("1.50"),
        "w": dt.datetime(2026, 3, 1, tzinfo=dt.UTC),
        "b": b"hello",
        "r": b"\xff\x00",
        "n": float("nan"),
        "i": 2**60,
        "c": Colour.RED,
        "k": {1: "a", (1, 2): "b"},
        "l": dt.timedelta(hours=1),
        "u": "e\u0301",
    }
    assert display(encode_body(value)) == {
        "t": [1, 2.0],
        "s": [1, 2],
        "d": "1.50",
        "w": "2026-03-01T00:00:00+00:00",
        "b": "hello",
        "r": "2 bytes ff00",
        "n": "nan",
        "i": 2**60,
        "c": {"test.Colour": "red"},
        "k": {"1": "a", "[1,2]": "b"},
        "l": "1:00:00",
        "u": "e\u0301",
    }


def test_display_shows_what_it_does_not_understand_as_it_lies() -> None:
    """An unknown tag is no reason to show nothing."""
    assert display(b'{"a":{"$later":[1]},"b":{"$float":"x"}}') == {"a": {"$later": [1]}, "b": {"$float": "x"}}
