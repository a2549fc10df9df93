"""Reads an event's meta as it nearly always is: in a third of the time that it takes field by field.

Clocks and times are looked up as in `_pick_meta`; the texts that name a stream are the same in all of its events, and read once.
"""

from __future__ import annotations

import dataclasses
import struct
from collections.abc import Callable
from typing import cast

from tachograph.schemas import _wire
from tachograph.schemas._errors import CorruptPayload, LimitExceeded
from tachograph.schemas._parts import EventMeta
from tachograph.schemas._pick_meta import NAMES
from tachograph.schemas._source import load

_STREAMS_MAX = 4096

_lower = cast("list[int]", NAMES["lower"])
_middle = cast("list[int]", NAMES["middle"])
_upper = cast("dict[bytes, int]", NAMES["upper"])
_times = cast("dict[int, int]", NAMES["times"])
_clock = cast("Callable[[bytes, int], tuple[int, int, bytes]]", struct.Struct("<HH5s").unpack_from)
_recorded = cast("Callable[[bytes, int], tuple[int, int, int, int, int, int]]", struct.Struct("<BHHHHB").unpack_from)
_told = cast("Callable[[bytes, int], tuple[int, int]]", struct.Struct("<QB").unpack_from)

_LAST_PAIR, _LAST_PAIR_IS = 0x8080, 0x0080
_MORE, _EIGHT = 0x80808080_80808080, 0x00808080_80808080
"""In a number of eight bytes all but the last say that more follow."""

_UNUSUAL = (IndexError, TypeError, KeyError, UnicodeDecodeError, struct.error, CorruptPayload, LimitExceeded)


class _Streams(dict[bytes, tuple[str, int, str, str]]):
    """Agent, incarnation, run and tenant, by the bytes that name them."""

    def __missing__(self, data: bytes) -> tuple[str, int, str, str]:
        agent, at = _text(data, 0)
        incarnation, at = _wire.long_at(data, at)
        run, at = _text(data, at)
        tenant, _ = _text(data, at)
        if len(self) >= _STREAMS_MAX:
            self.clear()
        self[data] = found = agent, incarnation, run, tenant
        return found


def _text(data: bytes, at: int) -> tuple[str, int]:
    length, at = _wire.length_at(data, at)
    return data[at : at + length].decode(), at + length


_streams = _Streams()

_FIELDS = tuple(field.name for field in dataclasses.fields(EventMeta))
_fill = load(
    "twin of EventMeta", [f"def fill(self, {', '.join(_FIELDS)}):", *(f"    self.{n} = {n}" for n in _FIELDS)], {}
)
_Open = type("_OpenMeta", (), {"__slots__": _FIELDS, "__init__": _fill["fill"]})
"""Of the same layout as EventMeta, and quick to fill."""


def usual_meta(data: bytes, p: int) -> tuple[EventMeta, int] | None:
    """The meta that starts at `p`, and where it ends; None where it is broken or merely unusual.

    Unusual are causes, a trace, ids of 64 bytes and more, and clocks and times beyond some centuries.
    """
    try:
        digest = data[p : p + 32]
        b = data[p + 32]
        p += 33
        if b < 128:
            seq = b >> 1 ^ -(b & 1)
        elif data[p] < 128:
            b = b & 127 | data[p] << 7
            seq = b >> 1 ^ -(b & 1)
            p += 1
        else:
            seq, p = _wire.long_tail(data, p, b)
        first, second, high = _clock(data, p)
        hlc: int = _lower[first] | _middle[second] | _upper[high]
        end = p + 10 + (data[p + 9] >> 1)  # behind the agent
        run = end + 1
        tenant = run + 1 + (data[run] >> 1)
        behind = tenant + 1 + (data[tenant] >> 1)
        if (data[p + 9] | data[run] | data[tenant]) & 129 or data[end] > 127:
            return None
        agent_id, incarnation, run_id, tenant_id = _streams[data[p + 9 : behind]]
        causes, first, second, third, last, b = _recorded(data, behind)
        if causes or last & _LAST_PAIR != _LAST_PAIR_IS:
            return None
        at: int = _lower[first] | _middle[second] | _middle[third] << 14 | (last & 127) << 41 | last >> 8 << 48
        p = behind + 10
        told = None
        if b:
            word, choice = _told(data, p)
            if b != 2 or word & _MORE != _EIGHT:
                return None
            told = _times[word]
            p += 8
            b = choice
        else:
            b = data[p]
        if b:
            return None
        meta = _Open(digest, seq, hlc, agent_id, incarnation, run_id, tenant_id, (), at, told, None)
    except _UNUSUAL:
        return None
    meta.__class__ = EventMeta  # pyright: ignore[reportAttributeAccessIssue] of the same layout
    return cast("EventMeta", meta), p + 1
