"""Any tree of dataclasses, members, named tuples and models comes back equal, of its classes, with the same bytes."""

from __future__ import annotations

import dataclasses
import enum
from typing import NamedTuple

import pydantic
from hypothesis import given, settings
from hypothesis import strategies as st

from tachograph.core.canonical import decode_body, display, encode_body


class Colour(enum.Enum):
    """An enumeration."""

    RED = 1
    BLUE = 2


class May(enum.IntFlag):
    """Flags."""

    READ = 1
    WRITE = 2


@dataclasses.dataclass(frozen=True, slots=True)
class Slotted:
    """In slots."""

    a: object
    b: object = None


@dataclasses.dataclass
class Loose:
    """In a dictionary."""

    a: object
    b: object = None


class Pair(NamedTuple):
    """A named tuple."""

    a: object
    b: object


class Model(pydantic.BaseModel):
    """Keeps what it does not know."""

    model_config = pydantic.ConfigDict(extra="allow")
    a: object
    b: object = None
    _c: object = pydantic.PrivateAttr(default=None)


class Strict(pydantic.BaseModel):
    """Takes nothing else."""

    model_config = pydantic.ConfigDict(frozen=True)
    a: object
    b: object = 5


LEAVES: st.SearchStrategy[object] = st.one_of(
    st.none(),
    st.integers(),
    st.text(max_size=4),
    st.floats(allow_nan=False),
    st.binary(max_size=3),
    st.sampled_from(Colour),
    st.integers(0, 3).map(May),
)


def _within(inner: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    names = st.sampled_from(["b", "more", "$x", "e\u0301"])
    return st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(st.text(max_size=3), inner, max_size=3),
        st.builds(Slotted, inner, inner),
        st.builds(Loose, inner),
        st.builds(Pair, inner, inner),
        st.builds(Strict, a=inner),
        st.builds(lambda a, rest: Model(a=a, **rest), inner, st.dictionaries(names, inner, max_size=2)),
    )


@settings(print_blob=True, deadline=None, max_examples=200)
@given(st.recursive(LEAVES, _within, max_leaves=12))
def test_objects_come_back_as_they_were(value: object) -> None:
    """Equal, with the same classes and text; people can be shown them; equal values have equal sorted bytes."""
    data = encode_body(value)
    back = decode_body(data)
    assert type(back) is type(value)
    assert back == value
    assert repr(back) == repr(value)
    assert encode_body(back) == data
    assert encode_body(back, ordered=False) == encode_body(value, ordered=False)
    encode_body(display(data))
