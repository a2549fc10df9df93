"""The part of a picker that reads an event's meta, the same in all of them: written out, since every event pays for it.

Clocks and times have the same number of bytes for centuries to come. So they are fetched as machine words and looked up in
tables of what two bytes of a number say; their slowly changing halves are remembered. Whatever has another length is unusual, and the
picker leaves it to the full decode.
"""

from __future__ import annotations

import struct
from typing import TypeVar

from tachograph.schemas import _wire
from tachograph.schemas._errors import CorruptPayload, LimitExceeded, SchemaMismatch
from tachograph.schemas._shape import Record

K = TypeVar("K", bytes, int)

PICKED = ("seq", "hlc", "who", "told")
"""What a picker gives of the meta: two numbers, the bytes that name agent, incarnation, run and tenant, and the logical time."""

UNUSUAL = "(IndexError, TypeError, KeyError, UnicodeDecodeError, StructError, CorruptPayload, LimitExceeded)"
"""What the picker's own statements raise where bytes are unusual or broken: both are for the full decode to tell apart."""

_LAYOUT = (
    "hash", "seq", "hlc", "agent_id", "incarnation", "run_id", "tenant", "causes", "recorded_at_us", "logical_time_us",
    "trace",
)  # fmt: skip
_HASH_BYTES = 32

_MORE = 0x80808080_80808080
_EIGHT = 0x00808080_80808080
"""In a number of eight bytes all but the last say that more follow; the last is the highest in a little-endian word."""

_REMEMBERED_MAX = 4096
"""A half of the clock lasts two seconds, a logical time as long as an agent does not ask for it again."""


class _Remembered(dict[K, int]):
    """What numbers, or halves of them, say, by their bytes."""

    def __missing__(self, data: K) -> int:
        if len(self) >= _REMEMBERED_MAX:
            self.clear()
        self[data] = value = self.read(data if isinstance(data, bytes) else data.to_bytes(8, "little"))
        return value

    def read(self, data: bytes) -> int:
        """The number that the bytes say."""
        number, end = _wire.long_at(data, 0)
        if end != len(data):
            raise KeyError(data)
        return number


class _Upper(_Remembered[bytes]):
    """The upper five of a clock's nine bytes, moved to their place."""

    def read(self, data: bytes) -> int:
        """28 bits are below them, one of which was the sign's."""
        bits, end = _wire.long_at(b"\x80" + data, 0)
        if end != len(data) + 1:
            raise KeyError(data)
        return bits >> 6 << 27


def _pairs(step: int, *, signed: bool = False) -> list[int | None]:
    """By two bytes of a number that goes on: the 14 bits in them, `step` for each; None where it does not go on.

    Args:
        step: what the lowest bit stands for.
        signed: the lowest bit is a sign, which the two bytes of no negative number have; the next one stands for `step`.
    """
    every = 2 if signed else 1
    found: list[int | None] = [None] * (1 << 16)
    for high in range(128):
        first = (high | 128) << 8 | 128
        begin = (high << 7) // every
        found[first : first + 128 : every] = range(begin * step, (begin + 128 // every) * step, step)
    return found


NAMES: dict[str, object] = {
    "CorruptPayload": CorruptPayload,
    "LimitExceeded": LimitExceeded,
    "StructError": struct.error,
    "clock": struct.Struct("<HH5s").unpack_from,
    "lower": _pairs(1, signed=True),
    "middle": _pairs(1 << 13),
    "upper": _Upper(),
    "before_told": struct.Struct("<BQB").unpack_from,
    "telling": struct.Struct("<QB").unpack_from,
    "recorded": struct.Struct("<BHHHHB").unpack_from,
    "times": _Remembered[int](),
}
"""What the statements need beside the reading functions."""


def lines(meta: Record, start: int, *, timed: bool = False) -> list[str]:
    """The statements that read a meta at `start` of `data`, and leave `p` behind it.

    Args:
        meta: its shape.
        start: where it begins.
        timed: read when it was recorded, too, into `at`; causes and a trace are unusual then.

    Raises:
        SchemaMismatch: the meta has another layout by now; these statements have to follow it.
    """
    if meta.names != _LAYOUT:
        raise SchemaMismatch(meta.name, f"its fields are {', '.join(meta.names)}, pickers read {', '.join(_LAYOUT)}")
    at = start + _HASH_BYTES
    return [
        f"b = data[{at}]; p = {at + 1}",
        "if b < 128: seq = b >> 1 ^ -(b & 1)",
        "elif data[p] < 128: b = b & 127 | data[p] << 7; seq = b >> 1 ^ -(b & 1); p += 1",
        "else: seq, p = long(data, p, b)",
        "first, second, third = clock(data, p); p += 9",
        "hlc = lower[first] | middle[second] | upper[third]",
        "start = p; agent = data[p]; p += 1 + (agent >> 1); life = data[p]; p += 1",
        "run = data[p]; p += 1 + (run >> 1); tenant = data[p]; p += 1 + (tenant >> 1)",
        "if (agent | run | tenant) & 129 or life > 127:",
        "    p = start",
        *(f"    {line}" for line in (*past_text(), *past_long(), *past_text(), *past_text())),
        "who = data[start:p]",
        *(_RECORDED if timed else _UNTIMED),
        "p += 10",
        "if not b: told = None; b = data[p]; p += 1",
        "elif b == 2:",
        "    word, b = telling(data, p); p += 9",
        f"    if word & {_MORE} != {_EIGHT}: return None",
        "    told = times[word]",
        "else: return None",
        *(("if b: return None",) if timed else _PAST_TRACE),
    ]


def past_text() -> tuple[str, ...]:
    """The statements that pass bytes or a text whose length stands before it."""
    return (
        "b = data[p]; p += 1",
        "if not b & 129: p += b >> 1",
        "elif not b & 1 and data[p] < 128: p += 1 + ((b & 127 | data[p] << 7) >> 1)",
        "else: n, p = length(data, p, b); p += n",
    )


def past_long() -> tuple[str, ...]:
    """The statements that pass a number."""
    return (
        "if data[p] < 128: p += 1",
        "elif data[p + 1] < 128: p += 2",
        "elif data[p + 2] < 128: p += 3",
        "else: p = past_long(data, p)",
    )


_UNTIMED = (
    "if data[p]: p = past_items(data, p, past_cause) - 1",
    "_, word, b = before_told(data, p)",
    f"if word & {_MORE} != {_EIGHT}: return None",
)

_RECORDED = (
    "causes, first, second, third, last, b = recorded(data, p)",
    "if causes or last & 0x8080 != 0x0080: return None",
    "at = lower[first] | middle[second] | middle[third] << 14 | (last & 127) << 41 | last >> 8 << 48",
)

_PAST_TRACE = (
    "if b:",
    "    if b != 2: return None",
    *(f"    {line}" for line in past_text()),
)
