"""Avro schemas as values: what the codec is generated from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, cast

from tachograph.schemas._registry import NAMESPACE, AvroSchema

PrimitiveName = Literal["boolean", "bytes", "double", "long", "string"]


@dataclass(frozen=True, slots=True)
class Primitive:
    """A value without parts."""

    name: PrimitiveName


@dataclass(frozen=True, slots=True)
class Fixed:
    """A fixed number of bytes."""

    name: str
    size: int


@dataclass(frozen=True, slots=True)
class Enumeration:
    """One of the named symbols, written as its place among them."""

    name: str
    symbols: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Array:
    """Any number of items."""

    items: Shape


@dataclass(frozen=True, slots=True)
class Choice:
    """A union whose first branch is null."""

    branches: tuple[Shape, ...]
    """The branches after null."""


@dataclass(frozen=True, slots=True)
class Record:
    """Named fields in order."""

    name: str
    fields: tuple[tuple[str, Shape], ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The fields' names, in order."""
        return tuple(name for name, _ in self.fields)


Shape: TypeAlias = Primitive | Fixed | Enumeration | Array | Choice | Record


def shape_of(schema: AvroSchema) -> Record:
    """The shape of an event's schema, whose named types stand where they are first used."""
    return cast("Record", _shape(schema, {}))


def bytes_min(shape: Shape) -> int:
    """The fewest bytes that a value of this shape takes up: what bounds the number of items in an array."""
    match shape:
        case Primitive("double"):
            return 8
        case Fixed(_, size):
            return size
        case Record():
            return sum(bytes_min(field) for _, field in shape.fields)
        case _:
            return 1


def _shape(schema: AvroSchema, known: dict[str, Shape]) -> Shape:
    if isinstance(schema, list):
        return Choice(tuple(_shape(branch, known) for branch in schema if branch != "null"))
    if isinstance(schema, str):
        return known.get(schema) or Primitive(cast("PrimitiveName", schema))
    if schema["type"] == "array":
        return Array(_shape(schema["items"], known))
    return _named(schema, known)


def _named(schema: dict[str, AvroSchema], known: dict[str, Shape]) -> Shape:
    name = cast("str", schema["name"])
    known[f"{NAMESPACE}.{name}"] = made = _without_name(name, schema, known)
    return made


def _without_name(name: str, schema: dict[str, AvroSchema], known: dict[str, Shape]) -> Shape:
    if schema["type"] == "fixed":
        return Fixed(name, cast("int", schema["size"]))
    if schema["type"] == "enum":
        return Enumeration(name, tuple(cast("list[str]", schema["symbols"])))
    fields = cast("list[dict[str, AvroSchema]]", schema["fields"])
    return Record(name, tuple((cast("str", field["name"]), _shape(field["type"], known)) for field in fields))
