"""Dataclasses, enumerations, named tuples and pydantic models come back equal and of their class, and run no code."""

from __future__ import annotations

import dataclasses
import enum
from collections import namedtuple
from typing import Generic, NamedTuple, TypeVar

import pydantic
import pytest

from tachograph.core.canonical import decode_body, display, encode_body, register_codec
from tachograph.core.errors import UnreadableBody, UnserialisableValue

T = TypeVar("T")


@dataclasses.dataclass
class Line:
    """A plain one."""

    text: str
    tags: list[str] = dataclasses.field(default_factory=list[str])


@dataclasses.dataclass(frozen=True, slots=True)
class Order:
    """Frozen, in slots, with another within."""

    number: int
    lines: tuple[Line, ...]


@dataclasses.dataclass
class Late:
    """Gets an attribute that is no field."""

    x: int
    y: int = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        self.__dict__["note"] = "late"


class Colour(enum.Enum):
    """With an alias."""

    RED = (1,)
    BLUE = frozenset({"b"})
    ROUGE = (1,)  # noqa: PIE796  # an alias


class Size(enum.StrEnum):
    """Text."""

    BIG = "big"


class Level(enum.IntEnum):
    """Numbers."""

    LOW = 1


class May(enum.Flag):
    """Flags."""

    READ = 1
    WRITE = 2


class Place(NamedTuple):
    """A named tuple."""

    row: int
    seat: str = "a"


Old = namedtuple("Old", "a b")  # noqa: PYI024  # the older form is recorded, too


class Part(pydantic.BaseModel):
    """Keeps what it does not know."""

    model_config = pydantic.ConfigDict(extra="allow")
    text: str
    annotations: list[Part] = []
    index: int | None = None


class Reply(pydantic.BaseModel):
    """Validates, has a private value and a dataclass within."""

    id: str
    parts: list[Part]
    order: Order | None = None
    colour: Colour = Colour.RED
    by_name: dict[str, Part] = {}
    _hidden: int = pydantic.PrivateAttr(default=3)

    @pydantic.field_validator("id")
    @classmethod
    def starts_well(cls, value: str) -> str:
        """Changes what it gets: run twice, it would show."""
        return f"<{value}>"


class Page(pydantic.BaseModel, Generic[T]):
    """Generic."""

    items: list[T]


Numbers = Page[int]


class Names(pydantic.RootModel[list[str]]):
    """A root."""


VALUES: list[object] = [
    Line("a"),
    Line("a", ["b"]),
    Order(1, (Line("a"), Line("b", ["c"]))),
    Colour.RED,
    Colour.ROUGE,
    Size.BIG,
    Level.LOW,
    May.READ,
    May.READ | May.WRITE,
    May(0),
    Place(1, "c"),
    Old((1,), 2.0),
    Part(text="a"),
    Part(text="a", annotations=[Part(text="b", more={"c": (1,)})]),  # type: ignore[call-arg]  # extra
    Part.model_construct(text="5", _fields_set=set()),
    Reply(id="1", parts=[Part(text="x"), Part(text="y", index=2)], order=Order(2, ()), colour=Colour.BLUE),
    Reply(id="1", parts=[], by_name={"$k": Part(text="x")}),
    Numbers(items=[1]),
    Page[Part](items=[Part(text="z")]),
    Names(["a"]),
    {Colour.RED: [Size.BIG], Place(1): {Level.LOW}},
    {
        Order(1, ()),
    },
]


@pytest.mark.parametrize("value", VALUES, ids=[type(value).__name__ + str(n) for n, value in enumerate(VALUES)])
def test_they_come_back_equal_and_of_their_class(value: object) -> None:
    """The same value, type, repr, fields set, extra and private values; and the same bytes again."""
    data = encode_body([value])
    (back,) = decode_body(data)  # type: ignore[misc]  # a list
    assert type(back) is type(value)
    assert back == value
    assert repr(back) == repr(value)
    assert encode_body([back]) == data
    if isinstance(value, pydantic.BaseModel):
        assert back.model_fields_set == value.model_fields_set
        assert back.__pydantic_extra__ == value.__pydantic_extra__
        assert back.__pydantic_private__ == value.__pydantic_private__
        assert back.model_dump() == value.model_dump()
        assert isinstance(back.model_copy(deep=True), type(value))


def test_attributes_that_are_no_fields_come_back_too() -> None:
    """Control logic may read them; a field that was never set stays so."""
    back = decode_body(encode_body(Late(1)))
    assert vars(back) == {"x": 1, "note": "late"}


def test_members_are_the_very_same() -> None:
    """Control logic compares them with `is`."""
    for member in (Colour.RED, Size.BIG, Level.LOW, May.READ | May.WRITE):
        assert decode_body(encode_body(member)) is member


def test_what_people_see_are_fields() -> None:
    """Without tags and modules."""
    value = [Order(1, (Line("a"),)), Colour.RED, May(3), Place(1), Part(text="a", more=1)]  # type: ignore[call-arg]
    assert display(encode_body(value)) == [
        {"number": 1, "lines": [{"text": "a", "tags": []}]},
        "Colour.RED",
        "May(3)",
        {"row": 1, "seat": "a"},
        {"text": "a", "annotations": [], "index": None, "more": 1},
    ]


@dataclasses.dataclass
class Closing:
    """Would close something twice."""

    x: int

    def __del__(self) -> None:
        """Close."""


@dataclasses.dataclass
class Odd(dict):  # type: ignore[type-arg]
    """More than its fields."""

    x: int = 1


class Texts(str):
    """A subclass of text."""

    __slots__ = ()


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (Closing(1), "__del__"),
        (Odd(), "a subclass of dict"),
        (Texts("a"), "a subclass of str"),
        (object(), "no codec is registered"),
        (dataclasses.make_dataclass("Made", ["x"])(1), "cannot be found by its name"),
    ],
)
def test_what_cannot_come_back_is_refused(value: object, reason: str) -> None:
    """The error names path and reason; it never happens only on the way back."""
    with pytest.raises(UnserialisableValue, match=r"\$\.a\[0\]") as refused:
        encode_body({"a": [value]})
    assert reason in refused.value.reason


def test_the_path_goes_through_objects() -> None:
    """A field that cannot be recorded is found."""
    with pytest.raises(UnserialisableValue) as refused:
        encode_body([Order(1, (Line(object()),))])  # type: ignore[arg-type]  # that is the point
    assert refused.value.path == "$[0].lines[0].text"


def test_objects_within_each_other_without_end_are_refused() -> None:
    """As lists are."""
    line = Line("a")
    line.tags = [line]  # type: ignore[list-item]  # that is the point
    with pytest.raises(UnserialisableValue, match="levels deep"):
        encode_body(line)


def test_a_codec_wins() -> None:
    """What is registered is how it is written and read."""
    register_codec("test.kinds.Old", Old, lambda old: [old.a, old.b], lambda plain: Old(*plain))  # type: ignore[misc]
    assert encode_body(Old(1, 2)) == b'{"$object":["test.kinds.Old",[1,2]]}'
    assert decode_body(encode_body(Old(1, 2))) == Old(1, 2)


def test_a_class_that_is_not_imported_is_named_with_the_remedy() -> None:
    """Nothing is imported because a body names it."""
    with pytest.raises(UnreadableBody, match="'not_here.shop:Money'.*import it in the module of the entry point"):
        decode_body(b'{"$object":["not_here.shop:Money",{"x":1}]}')


def test_a_class_that_changed_since() -> None:
    """New fields get simple defaults; fields that are gone are an error where there is no room for them."""
    name = encode_body(Line("a")).decode().partition('"$object":["')[2].partition('"')[0]
    assert decode_body(f'{{"$object":["{name}",{{"text":"a"}}]}}'.encode()) == Line("a")
    order = name.replace(":Line", ":Order")
    with pytest.raises(UnreadableBody, match="no field 'gone'"):
        decode_body(f'{{"$object":["{order}",{{"gone":1}}]}}'.encode())
