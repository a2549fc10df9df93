"""Writes, as Python source, the function that reads a few fields of an event and skips the others.

A reader that needs a tenth of an event pays for little more than that tenth: what is not wanted is neither decoded nor
copied. All lengths are followed to the event's end, so that bytes cut short or too many are found as `decode` finds them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias, cast

from tachograph.schemas import _pick_meta, _wire
from tachograph.schemas._decoder import Maker
from tachograph.schemas._errors import SchemaMismatch
from tachograph.schemas._shape import Array, Choice, Enumeration, Fixed, Primitive, Record, Shape
from tachograph.schemas._source import load

Picked: TypeAlias = "tuple[int, int, bytes, int | None, *tuple[object, ...]]"
"""An event's `seq`, `hlc`, stream and logical time, and the wanted fields."""

Pick: TypeAlias = "Callable[[bytes], Picked | None]"
"""From a payload to what was wanted; None where only a full decode can tell what is wrong."""

_ITEMS_MAX = 1 << 40
"""No array is longer: each item takes a byte, and payloads are in memory."""


def compile_picker(
    record: Record, paths: Iterable[str], start: int, *, timed: bool = False, without: Iterable[str] = ()
) -> Pick:
    """The function that picks from payloads of a record.

    Args:
        record: the shape of the event.
        paths: the wanted fields behind the meta: `name`, or `result.digest` of a record within, None where that is null.
        start: where the record starts in a payload.
        timed: whether to give when the event was recorded, before the wanted fields; causes and a trace are unusual then.
        without: fields that are null in what is usual.

    Raises:
        SchemaMismatch: there is no such field.
    """
    maker = _Picker(frozenset(without), timed=timed)
    wanted = tuple(paths)
    body = maker.body(record, wanted, start)
    maker.lines += [
        f"def pick(data, items_max={_ITEMS_MAX}):",
        "    try:",
        *body,
        f"    except {_pick_meta.UNUSUAL}: return None",
    ]
    return cast("Pick", load(f"pick of {record.name}", maker.lines, maker.names)["pick"])


class _Picker(Maker):
    """Collects the source of one picker."""

    def __init__(self, without: frozenset[str], *, timed: bool) -> None:
        super().__init__()
        self._without = without
        self._timed = timed
        self.names |= {"past_items": _past_items, "past_long": _past_long, **_pick_meta.NAMES}
        self._found: dict[str, str] = {}

    def body(self, record: Record, wanted: tuple[str, ...], start: int) -> list[str]:
        """The statements of a picker."""
        pad = " " * 8
        meta = cast("Record", record.fields[0][1])
        self.lines.append(f"past_cause = {self.skipper(cast('Array', dict(meta.fields)['causes']).items)}")
        out = [pad + line for line in _pick_meta.lines(meta, start, timed=self._timed)]
        for name, shape in record.fields[1:]:
            self._pick(name, shape, wanted, out, pad)
        absent = [name for name in sorted(self._without) if not isinstance(dict(record.fields).get(name), Choice)]
        if missing := [path for path in wanted if path not in self._found] + absent:
            raise SchemaMismatch(record.name, f"there is no field {missing[0]!r} to pick")
        time = ("at",) if self._timed else ()
        picked = ", ".join((*_pick_meta.PICKED, *time, *(self._found[path] for path in wanted)))
        return [*out, f"{pad}return ({picked}) if p == len(data) else None"]

    def _pick(self, path: str, shape: Shape, wanted: tuple[str, ...], out: list[str], pad: str) -> None:
        if path in self._without:
            out += [f"{pad}if data[p]: return None", f"{pad}p += 1"]
        elif path in wanted:
            self._found[path] = self.value(shape, out, pad)
        elif any(other.startswith(f"{path}.") for other in wanted):
            self._part(path, shape, wanted, out, pad)
        else:
            self._skip(shape, out, pad)

    def _part(self, path: str, shape: Shape, wanted: tuple[str, ...], out: list[str], pad: str) -> None:
        if isinstance(shape, Record):
            for name, field in shape.fields:
                self._pick(f"{path}.{name}", field, wanted, out, pad)
            return
        if not isinstance(shape, Choice) or len(shape.branches) != 1:
            raise SchemaMismatch(path, "only a record, or one that may be null, has parts to pick")
        then: list[str] = []
        self._part(path, shape.branches[0], wanted, then, pad + "    ")
        parts = [name for part, name in self._found.items() if part.startswith(f"{path}.")]
        out += [f"{pad}b = data[p]; p += 1", f"{pad}if not b: {' = '.join(parts)} = None"]
        out += [f"{pad}elif b == 2:", *then, f"{pad}else: corrupt(p)"]

    def _skip(self, shape: Shape, out: list[str], pad: str) -> None:
        match shape:
            case Record():
                for _, field in shape.fields:
                    self._skip(field, out, pad)
            case Primitive(name):
                out += [pad + line for line in _past(name)]
            case Fixed(_, size):
                out.append(f"{pad}p += {size}")
            case Enumeration(_, symbols):
                out.append(f"{pad}if data[p] >> 1 < {len(symbols)} and not data[p] & 1: p += 1")
                out.append(f"{pad}else: return None")
            case Array(items):
                read = self.skipper(items)
                out.append(f"{pad}if data[p]: p = past_items(data, p, {read})")
                out.append(f"{pad}else: p += 1")
            case Choice(branches):
                self._skip_choice(branches, out, pad)

    def _skip_choice(self, branches: tuple[Shape, ...], out: list[str], pad: str) -> None:
        out += [f"{pad}b = data[p]; p += 1", f"{pad}if b:"]
        for at, branch in enumerate(branches, 1):
            out.append(f"{pad}    {'el' if at > 1 else ''}if b == {at << 1}:")
            self._skip(branch, out, pad + "        ")
        out.append(f"{pad}    else: return None")

    def skipper(self, shape: Shape) -> str:
        """The name of the function that gives where a value of this shape ends."""
        name = self.fresh("past")
        body: list[str] = []
        self._skip(shape, body, "    ")
        self.lines += [f"def {name}(data, p):", *body, "    return p"]
        return name


def _past(name: str) -> tuple[str, ...]:
    match name:
        case "long":
            return _pick_meta.past_long()
        case "boolean":
            return ("if data[p] > 1: return None", "p += 1")
        case "double":
            return ("p += 8",)
        case _:
            return _pick_meta.past_text()


def _past_long(data: bytes, at: int) -> int:
    return _wire.long_at(data, at)[1]


def _past_items(data: bytes, at: int, past: Callable[[bytes, int], int | None]) -> int:
    """Where an array ends: each item is passed, so that no count is trusted."""
    while True:
        count, at = _wire.block_count(data, at)
        if not count:
            return at
        for _ in range(count):
            end = past(data, at)
            if end is None or end > len(data):
                raise IndexError
            at = end
