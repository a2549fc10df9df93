"""Where an event's record goes: its run, tenant and time, from its first bytes, without decoding it.

This is done for every event that is shipped, so it looks at no more bytes than it must. The layout is that of
`EventMeta` in Avro: hash, seq, hlc, agent id, incarnation, run id, tenant; integers are zigzag varints.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from tachograph.schemas import CONTENT_OFFSET, CorruptPayload

_COUNTER_BITS: Final = 16
"""Of a hybrid clock: below its milliseconds."""

TENANT_HEADER: Final = "tacho-tenant"

_SEEN_BYTES: Final = 40
"""By which a stream is looked up: most of an agent's and a run's id, and seldom what lies behind them."""

_KNOWN_MAX: Final = 4096
"""Streams that are remembered, 1 MB of them."""


class Who(NamedTuple):
    """Whose events a stream holds."""

    lies: bytes
    """Agent id, incarnation, run id and tenant, as they lie in every event of the stream."""
    run_id: bytes
    """The key: events of a run lie in one partition."""
    tenant: bytes


class Router:
    """Finds routes; it remembers the streams that it met."""

    def __init__(self) -> None:
        self._known: dict[bytes, Who] = {}
        """By the first bytes of `lies`; whether it is that one is always looked at."""
        self._latest: Who | None = None
        """Of the event before."""
        self.tenants: set[bytes] = set()
        """Whose events came by."""
        self._clock = b""
        """The upper bytes of the clock of the event before."""
        self._time_ms = 0
        """The milliseconds that they say."""

    def route(self, payload: bytes) -> tuple[Who, int]:
        """Whose an event is, and the time of its hybrid clock in milliseconds since 1970.

        Raises:
            CorruptPayload: the bytes do not start as an event.
        """
        try:
            at = CONTENT_OFFSET
            while payload[at] > 127:
                at += 1
            clock = at + 1
            # A clock of our time has nine bytes; the upper six change every 16 ms, of the third four bits count them.
            if (
                payload[clock + 3 : clock + 9] == self._clock
                and payload[clock] > 127
                and payload[clock + 1] > 127
                and (third := payload[clock + 2]) > 127
            ):
                at = clock + 9
                time_ms = self._time_ms | (third & 127) >> 3
            else:
                hlc, at = _varint(payload, clock)
                time_ms = hlc >> _COUNTER_BITS
                if at == clock + 9:
                    self._clock, self._time_ms = payload[clock + 3 : at], time_ms & ~15
            who = self._latest
            if who is not None and payload.startswith(who.lies, at):
                return who, time_ms
            who = self._known.get(payload[at : at + _SEEN_BYTES])
            if who is None or not payload.startswith(who.lies, at):
                who = self._learn(payload, at)
            self._latest = who
        except IndexError:
            raise CorruptPayload("an event", CONTENT_OFFSET, "it ends within its meta") from None
        return who, time_ms

    def _learn(self, payload: bytes, start: int) -> Who:
        at = _behind_text(payload, start)
        _, run = _varint(payload, at)
        tenant = _behind_text(payload, run)
        end = _behind_text(payload, tenant)
        owner = _text(payload, tenant)
        who = Who(payload[start:end], _text(payload, run), owner)
        self.tenants.add(owner)
        if len(self._known) >= _KNOWN_MAX:
            self._known.clear()
        self._known[payload[start : start + _SEEN_BYTES]] = who
        return who


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while (byte := data[at]) > 127:
        value |= (byte & 127) << shift
        shift += 7
        at += 1
    value |= byte << shift
    return value >> 1 ^ -(value & 1), at + 1


def _text(data: bytes, at: int) -> bytes:
    size, at = _varint(data, at)
    return data[at : at + size]


def _behind_text(data: bytes, at: int) -> int:
    size, at = _varint(data, at)
    if size < 0 or at + size > len(data):
        raise IndexError(size)
    return at + size
