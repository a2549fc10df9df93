"""Writes, as Python source, the function that decodes a record of a given shape into its class, and compiles it."""

from __future__ import annotations

import dataclasses
import struct
from collections.abc import Callable
from enum import StrEnum
from typing import TypeAlias, cast

from tachograph.schemas import _wire
from tachograph.schemas._classes import class_named
from tachograph.schemas._errors import CorruptPayload
from tachograph.schemas._meta import usual_meta
from tachograph.schemas._parts import EventMeta
from tachograph.schemas._shape import Array, Choice, Enumeration, Fixed, Primitive, Record, Shape, bytes_min
from tachograph.schemas._source import load

Decode: TypeAlias = "Callable[[bytes, int, int], tuple[object, int]]"
"""From data, where to start and how many items an array may have, to the value and where it ends.

The end may lie beyond the data's, if the data was cut short: the caller compares.
"""

BROKEN = (IndexError, UnicodeDecodeError, struct.error)
"""What a decoder raises, beside the errors of the tree, where bytes are not what they should be."""


def compile_decoder(record: Record) -> Decode:
    """The function that reads a record: as its class, or as a dict where the class has other fields by now.

    It raises CorruptPayload, LimitExceeded or one of BROKEN.
    """
    maker = Maker()
    name = maker.function(record)
    return cast("Decode", load(f"decoder of {record.name}", maker.lines, maker.names)[name])


def class_of(record: Record) -> type | None:
    """The class with exactly the record's fields, if there is one."""
    cls = cast("type", class_named(record.name))
    return cls if tuple(field.name for field in dataclasses.fields(cls)) == record.names else None


def _twin(cls: type) -> type:
    """A class of the same layout whose instances are cheap to fill.

    A frozen class fills its fields through `object.__setattr__`, three times as slow as an assignment. An instance of
    the twin is filled, then given the frozen class: the layout is the same, so that is one pointer.
    """
    names = [field.name for field in dataclasses.fields(cls)]
    lines = [f"def fill(self, {', '.join(names)}):", *(f"    self.{name} = {name}" for name in names)]
    fill = load(f"twin of {cls.__name__}", lines, {})["fill"]
    return type(cls.__name__, (), {"__slots__": tuple(names), "__init__": fill})


class Maker:
    """Collects the source of one decoder."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.names: dict[str, object] = {
            "corrupt": _corrupt,
            "double": _wire.DOUBLE.unpack_from,
            "items": _wire.read_items,
            "length": _wire.length_tail,
            "long": _wire.long_tail,
        }
        self._count = 0

    def function(self, shape: Shape) -> str:
        """The name of the function that decodes a value of this shape."""
        name = self.fresh("read")
        body: list[str] = []
        value = self.value(shape, body, "    ")
        self.lines += [f"def {name}(data, p, items_max):", *body, f"    return {value}, p"]
        return name

    def value(self, shape: Shape, out: list[str], pad: str) -> str:
        """The name of the variable that holds the value after the statements that are added to `out`."""
        v = self.fresh("v")
        match shape:
            case Record():
                self._record(shape, v, out, pad)
            case Primitive(name):
                out += [pad + line for line in _primitive(name, v)]
            case Fixed(_, size):
                out.append(f"{pad}{v} = data[p:p + {size}]; p += {size}")
            case Enumeration():
                self.names[shape.name] = _symbols(shape)
                out += [pad + line for line in (*_length(), f"{v} = {shape.name}[n]")]
            case Array(items):
                read = self.function(items)
                out.append(f"{pad}if data[p]: {v}, p = items(data, p, items_max, {bytes_min(items)}, {read})")
                out.append(f"{pad}else: {v} = (); p += 1")
            case Choice(branches):
                self._choice(branches, v, out, pad)
        return v

    def _record(self, record: Record, v: str, out: list[str], pad: str) -> None:
        if class_of(record) is not EventMeta:
            self._fields(record, v, out, pad)
            return
        read, found = self.fresh("read"), self.fresh("v")
        body: list[str] = []
        self._fields(record, found, body, "    ")
        self.lines += [f"def {read}(data, p, items_max):", *body, f"    return {found}, p"]
        self.names["usual_meta"] = usual_meta
        out.append(f"{pad}{v}, p = usual_meta(data, p) or {read}(data, p, items_max)")

    def _fields(self, record: Record, v: str, out: list[str], pad: str) -> None:
        parts = [(name, self.value(shape, out, pad)) for name, shape in record.fields]
        cls = class_of(record)
        if cls is None:
            out.append(f"{pad}{v} = {{{', '.join(f'{name!r}: {part}' for name, part in parts)}}}")
            return
        self.names |= {record.name: cls, f"Twin{record.name}": _twin(cls)}
        out.append(f"{pad}{v} = Twin{record.name}({', '.join(part for _, part in parts)})")
        out.append(f"{pad}{v}.__class__ = {record.name}")

    def _choice(self, branches: tuple[Shape, ...], v: str, out: list[str], pad: str) -> None:
        out += [f"{pad}b = data[p]; p += 1", f"{pad}if not b: {v} = None"]
        for at, branch in enumerate(branches, 1):
            out.append(f"{pad}elif b == {at << 1}:")
            made = self.value(branch, out, pad + "    ")
            out.append(f"{pad}    {v} = {made}")
        out.append(f"{pad}else: corrupt(p)")

    def fresh(self, kind: str) -> str:
        """A name that nothing else has."""
        self._count += 1
        return f"{kind}{self._count}"


def _length() -> tuple[str, ...]:
    """Reads a number that is not negative into `n`: one test finds both the negative and the long ones."""
    return (
        "b = data[p]; p += 1",
        "if not b & 129: n = b >> 1",
        "elif not b & 1 and data[p] < 128: n = (b & 127 | data[p] << 7) >> 1; p += 1",
        "else: n, p = length(data, p, b)",
    )


def _primitive(name: str, v: str) -> tuple[str, ...]:
    match name:
        case "long":
            return (
                "b = data[p]; p += 1",
                f"if b < 128: {v} = b >> 1 ^ -(b & 1)",
                f"elif data[p] < 128: b = b & 127 | data[p] << 7; {v} = b >> 1 ^ -(b & 1); p += 1",
                f"else: {v}, p = long(data, p, b)",
            )
        case "boolean":
            return (f"{v} = data[p] == 1; p += 1", "if data[p - 1] > 1: corrupt(p)")
        case "double":
            return (f"{v} = double(data, p)[0]; p += 8",)
        case _:
            decoded = ".decode()" if name == "string" else ""
            return (*_length(), f"{v} = data[p:p + n]{decoded}; p += n")


def _symbols(shape: Enumeration) -> tuple[str, ...]:
    """The values of the enum's symbols: members of its class, or text where it has none."""
    cls = class_named(shape.name)
    if isinstance(cls, type) and issubclass(cls, StrEnum):
        return tuple(cls(symbol) for symbol in shape.symbols)
    return shape.symbols


def _corrupt(at: int) -> None:
    raise CorruptPayload("an event", at, "there is no such choice")
