"""A body that names classes and functions of this process makes none of their code run."""

from __future__ import annotations

import contextlib
import dataclasses
import enum
import subprocess
import sys
from typing import NamedTuple

import orjson
import pydantic
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tachograph.core.canonical import decode_body, display
from tachograph.core.errors import UnreadableBody

RAN: list[str] = []


def _boom(*_: object, **__: object) -> None:
    RAN.append("ran")


@dataclasses.dataclass
class Trap:
    """Everything that a constructor could run leaves a trace."""

    x: object = dataclasses.field(default_factory=lambda: RAN.append("factory"))

    def __new__(cls, *_: object) -> Trap:
        RAN.append("new")
        return object.__new__(cls)

    def __init__(self, x: object = None) -> None:
        RAN.append("init")

    def __post_init__(self) -> None:
        RAN.append("post_init")

    def __setattr__(self, name: str, value: object) -> None:
        RAN.append("setattr")

    def __getattribute__(self, name: str) -> object:
        RAN.append("getattribute")
        return object.__getattribute__(self, name)

    def __setstate__(self, state: object) -> None:
        RAN.append("setstate")

    def __reduce__(self) -> tuple[object, ...]:
        RAN.append("reduce")
        return (_boom, ())

    @property
    def y(self) -> object:
        """A property with a setter."""
        RAN.append("getter")
        return None

    @y.setter
    def y(self, value: object) -> None:
        RAN.append("setter")


@dataclasses.dataclass
class Closes:
    """Runs when it goes."""

    x: int = 0

    def __del__(self) -> None:
        RAN.append("del")


class Model(pydantic.BaseModel):
    """Validators, factories, hooks."""

    x: object = pydantic.Field(default_factory=lambda: RAN.append("factory"))

    def __init__(self, **data: object) -> None:
        RAN.append("init")
        super().__init__(**data)

    @pydantic.field_validator("x")
    @classmethod
    def checked(cls, value: object) -> object:
        """Leaves a trace."""
        RAN.append("validator")
        return value

    def model_post_init(self, _: object, /) -> None:
        """Leaves a trace."""
        RAN.append("post_init")

    def __setattr__(self, name: str, value: object) -> None:
        RAN.append("setattr")


class Choice(enum.Enum):
    """Looked up by code of its own."""

    ONE = 1

    @classmethod
    def _missing_(cls, value: object) -> Choice:
        RAN.append("missing")
        return cls.ONE


class Bits(enum.Flag):
    """As above."""

    ONE = 1
    TWO = 2

    @classmethod
    def _missing_(cls, value: object) -> Bits:
        RAN.append("missing")
        return cls.ONE


class Pair(NamedTuple):
    """A named tuple."""

    x: object
    y: object = None


class Twin(Pair):
    """With a constructor of its own."""

    __slots__ = ()

    def __new__(cls, *_: object) -> Twin:
        RAN.append("new")
        return tuple.__new__(cls, (1, 2))

    @classmethod
    def _make(cls, _: object) -> Twin:  # type: ignore[override]
        RAN.append("make")
        return cls()


class Proxy:
    """Pretends to be a class."""

    @property
    def __class__(self) -> type:  # type: ignore[override]
        RAN.append("class")
        return type

    def __getattr__(self, name: str) -> object:
        RAN.append("getattr")
        return _boom


proxy = Proxy()


class Plain:
    """Of no kind."""

    def __init__(self) -> None:
        RAN.append("init")


MINE = ["Trap", "Closes", "Model", "Choice", "Bits", "Twin", "proxy", "Plain", "_boom", "proxy.x", "Trap.y", "RAN"]
THEIRS = [
    "os:system", "posix:system", "subprocess:Popen", "builtins:eval", "builtins:exec", "builtins:__import__",
    "builtins:type", "builtins:object", "builtins:str", "builtins:dict", "importlib:import_module", "io:FileIO",
    "pathlib:Path", "socket:socket", "threading:Thread", "functools:partial", "operator:attrgetter",
    "antigravity:x", "this:s", "sys:modules", "os:environ", ":", "os:", ":os", "a:b:c", "os:path.join",
]  # fmt: skip
NAMES = [f"{__name__}:{name}" for name in MINE] + THEIRS
FIELDS: list[object] = [
    None, 1, 3, 1 << 60, "ONE", "echo pwned", ["echo pwned"], {}, {"x": 1}, {"x": 1, "y": 2}, {"args": ["true"]},
    {"__class__": "x"}, {"__dict__": {}}, {"checked": 1}, {"__pydantic_fields_set__": ["x"]},
]  # fmt: skip
RESTS: list[object] = [{}, {"set": ["x"]}, {"extra": {"x": 1}, "private": {"_y": 1}}, {"set": [[]]}, {"evil": 1}, [], 1]


@pytest.fixture(autouse=True)
def clean() -> None:
    """Nothing ran yet."""
    assert isinstance(Choice.ONE, Choice)
    RAN.clear()


def _read(data: bytes) -> object:
    with contextlib.suppress(UnreadableBody):
        return decode_body(data)
    return None


@pytest.mark.parametrize("name", NAMES)
def test_no_code_of_a_named_class_or_function_runs(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No constructor, hook, validator, factory, property, finaliser, function or import, whatever the fields say."""
    monkeypatch.setattr(subprocess.Popen, "__init__", _boom)
    modules = set(sys.modules)
    for fields in FIELDS:
        for tail in [[], *([rest] for rest in RESTS)]:
            data = orjson.dumps({"$object": [name, fields, *tail]})
            value = _read(data)
            del value
            display(data)
    assert RAN == []
    assert set(sys.modules) == modules


def test_what_is_made_of_a_trap_is_data() -> None:
    """It is there, with its fields, and attributes of its class are not hidden by what a body says."""
    value = _read(orjson.dumps({"$object": [f"{__name__}:Trap", {"x": 1}]}))
    assert type(value) is Trap
    assert object.__getattribute__(value, "__dict__") == {"x": 1}
    for name in ("y", "__init__", "__class__"):
        assert _read(orjson.dumps({"$object": [f"{__name__}:Trap", {name: 1}]})) is None
    assert RAN == []


JSON = st.recursive(
    st.none() | st.integers(-5, 5) | st.sampled_from(["x", "ONE", "_y"]) | st.sampled_from(NAMES),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["x", "y", "set", "extra", "private", "__class__"]), inner, max_size=3),
        st.lists(inner, min_size=1, max_size=2).flatmap(
            lambda items: st.sampled_from(NAMES).map(lambda name: {"$object": [name, *items]})
        ),
    ),
    max_leaves=10,
)


@settings(print_blob=True, deadline=None, max_examples=300)
@given(JSON)
def test_any_body_is_a_value_or_an_error(value: object) -> None:
    """Nothing runs, and nothing but UnreadableBody is raised."""
    RAN.clear()
    data = orjson.dumps(value)
    _read(data)
    display(data)
    assert RAN == []
