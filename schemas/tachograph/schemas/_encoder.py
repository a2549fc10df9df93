"""Writes, as Python source, the function that encodes a record of a given shape, and compiles it.

Encoding lies on the path of every recorded call. A function with the schema unrolled into it takes a third of the time
of an interpreter of the schema in C, because most of that is spent on finding out, again, what is known beforehand.
What it writes is held to be the reference's bytes by test.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import TypeAlias, cast

from tachograph.schemas import _wire
from tachograph.schemas._registry import NAMESPACE
from tachograph.schemas._shape import Array, Choice, Enumeration, Fixed, Primitive, Record, Shape
from tachograph.schemas._source import load

Encode: TypeAlias = "Callable[[Mapping[str, object]], bytes]"

UNFIT = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, struct.error)
"""What an encoder raises where fields do not fit."""


def compile_encoder(record: Record) -> Encode:
    """The function from a record's fields to its Avro bytes.

    Where the fields do not fit it raises one of UNFIT.
    """
    maker = _Maker()
    name = maker.function(record)
    return cast("Encode", load(f"encoder of {record.name}", maker.lines, maker.names)[name])


class _Symbols(dict[object, bytes]):
    """The bytes of an enum's symbols."""

    def __missing__(self, symbol: object) -> bytes:
        raise ValueError(f"{symbol!r} is not one of {', '.join(map(str, self))}")


class _Maker:
    """Collects the source of one encoder: a function per record that is not part of one only."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.names: dict[str, object] = {
            "BOOLEAN": {False: b"\x00", True: b"\x01"},
            "DOUBLE": _wire.DOUBLE.pack,
            "SMALL": _wire.SMALL,
            "check": _check,
            "fixed": _fixed,
            "long": _wire.long_bytes,
        }
        self._done: set[str] = set()
        self._count = 0

    def function(self, shape: Shape) -> str:
        """The name of the function that encodes a value of this shape."""
        name = f"encode_{shape.name}" if isinstance(shape, Record) else f"encode_{self._fresh()}"
        if name in self._done:
            return name
        self._done.add(name)
        head: list[str] = []
        pieces = self._pieces(shape, "value", head)
        self.lines.append(f"def {name}(value):")
        self.lines.extend(f"    {line}" for line in head)
        self.lines.append(f"    return b''.join(({', '.join(pieces)},))")
        return name

    def _pieces(self, shape: Shape, value: str, head: list[str]) -> list[str]:
        """Expressions for the bytes of `value`, in order; `head` gets the statements that go before them."""
        match shape:
            case Record():
                return self._record(shape, value, head)
            case Primitive(name):
                return self._primitive(name, value)
            case Fixed(_, size):
                v = self._fresh()
                return [f"{v} if len({v} := {value}) == {size} else fixed({v}, {size})"]
            case Enumeration(name, symbols):
                self.names[name] = _Symbols({symbol: _wire.SMALL[at] for at, symbol in enumerate(symbols)})
                return [f"{name}[{value}]"]
            case Array(items):
                return self._array(items, value)
            case Choice(branches):
                return self._choice(branches, value)

    def _record(self, record: Record, value: str, head: list[str]) -> list[str]:
        v = self._fresh()
        self.names[f"NAMES_{record.name}"] = record.names
        head.append(f"{v} = {value}")
        head.append(f"if len({v}) != {len(record.fields)}: check({v}, NAMES_{record.name})")
        return [piece for name, shape in record.fields for piece in self._pieces(shape, f"{v}[{name!r}]", head)]

    def _primitive(self, name: str, value: str) -> list[str]:
        v = self._fresh()
        if name == "long":
            low, high = _wire.SMALL_MIN, _wire.SMALL_MAX
            return [f"SMALL[{v}] if {low} <= ({v} := {value}) <= {high} else long({v})"]
        if name == "boolean":
            return [f"BOOLEAN[{value}]"]
        if name == "double":
            return [f"DOUBLE({value})"]
        text = f"{value}.encode()" if name == "string" else value
        return [f"SMALL[n] if (n := len({v} := {text})) <= {_wire.SMALL_MAX} else long(n)", v]

    def _array(self, items: Shape, value: str) -> list[str]:
        v = self._fresh()
        encode = self.function(items)
        return [f"b'\\0' if not ({v} := {value}) else long(len({v})) + b''.join([{encode}(i) for i in {v}]) + b'\\0'"]

    def _choice(self, branches: tuple[Shape, ...], value: str) -> list[str]:
        v = self._fresh()
        if len(branches) == 1:
            encode = self._inline(branches[0], v)
            return [f"b'\\0' if ({v} := {value}) is None else b'\\2' + {encode}"]
        table = self._branches(branches)
        return [f"b'\\0' if ({v} := {value}) is None else (b := {table}[{v}[0]])[0] + b[1]({v}[1])"]

    def _branches(self, branches: tuple[Shape, ...]) -> str:
        """The name of the table of what stands before a branch and what encodes it, by the branch's name."""
        table = self._fresh().upper()
        rows = [
            f"'{NAMESPACE}.{cast('Record', branch).name}': ({_wire.SMALL[at]!r}, {self.function(branch)})"
            for at, branch in enumerate(branches, 1)
        ]
        self.lines.append(f"{table} = {{{', '.join(rows)}}}")
        return table

    def _inline(self, shape: Shape, value: str) -> str:
        """One expression for the bytes of `value`."""
        head: list[str] = []
        if isinstance(shape, Record):
            return f"{self.function(shape)}({value})"
        first, *rest = self._pieces(shape, value, head)
        return " + ".join([f"({first})", *rest])

    def _fresh(self) -> str:
        self._count += 1
        return f"v{self._count}"


def _check(fields: Mapping[str, object], names: tuple[str, ...]) -> None:
    missing = [name for name in names if name not in fields]
    unknown = [name for name in fields if name not in names]
    raise ValueError(f"missing fields: {', '.join(missing) or 'none'}; unknown fields: {', '.join(unknown) or 'none'}")


def _fixed(value: bytes, size: int) -> bytes:
    raise ValueError(f"{len(value)} bytes where {size} are needed")
