"""Writes, as Python source, the function that turns an event into the fields it is encoded from, and compiles it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, cast

from tachograph.schemas._classes import class_named
from tachograph.schemas._registry import NAMESPACE
from tachograph.schemas._shape import Array, Choice, Enumeration, Record, Shape
from tachograph.schemas._source import load

Plain: TypeAlias = "Callable[[object], dict[str, object]]"


def compile_plain(record: Record) -> Plain:
    """The function from an event of the record's class to its fields."""
    maker = _Maker()
    name = maker.function(record)
    return cast("Plain", load(f"fields of {record.name}", maker.lines, maker.names)[name])


class _Maker:
    """Collects the source: a function per record."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.names: dict[str, object] = {}

    def function(self, record: Record) -> str:
        """The name of the function for this record."""
        name = f"plain_{record.name}"
        if name not in self.names:
            self.names[name] = None
            parts = [f"{field!r}: {self._value(shape, f'v.{field}')}" for field, shape in record.fields]
            self.lines.append(f"def {name}(v): return {{{', '.join(parts)}}}")
        return name

    def _value(self, shape: Shape, value: str) -> str:
        match shape:
            case Record():
                return f"{self.function(shape)}({value})"
            case Enumeration(_, symbols):
                self.names[shape.name] = {symbol: symbol for symbol in symbols}
                return f"{shape.name}[{value}]"
            case Array(items):
                return f"[{self._value(items, 'i')} for i in {value}]"
            case Choice(branches):
                return self._choice(branches, value)
            case _:
                return value

    def _choice(self, branches: tuple[Shape, ...], value: str) -> str:
        if len(branches) == 1:
            inner = self._value(branches[0], value)
            return value if inner == value else f"None if {value} is None else {inner}"
        return f"None if {value} is None else {self._branches(branches)}[{value}.__class__]({value})"

    def _branches(self, branches: tuple[Shape, ...]) -> str:
        """The name of the table of functions to pairs of branch name and fields, by class."""
        records = cast("tuple[Record, ...]", branches)
        self.names |= {record.name: class_named(record.name) for record in records}
        rows = [f"{r.name}: lambda v: ('{NAMESPACE}.{r.name}', {self.function(r)}(v))" for r in records]
        table = "BRANCHES_" + "_".join(record.name for record in records)
        self.lines.append(f"{table} = {{{', '.join(rows)}}}")
        return table
