"""Encodes an event in two parts, its meta and the rest: a stream's metas have most of their bytes in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import cast

from tachograph.schemas._encoder import UNFIT, Encode, compile_encoder
from tachograph.schemas._errors import SchemaMismatch
from tachograph.schemas._parts import Cause
from tachograph.schemas._registry import current, schema_of
from tachograph.schemas._shape import Array, Record, shape_of
from tachograph.schemas._wire import HIGH_SHIFT, PAIRS, SMALL, SMALL_MAX, high_bytes, long_bytes

_ANY_EVENT = "CallStarted"
"""Every event type starts with the same meta."""


class HeadEncoder:
    """Encodes the metas of one stream's events. Clocks rise slowly: the bytes of their high bits are kept.

    Args:
        agent_id: of the stream.
        incarnation: of the stream.
        run_id: of the stream.
        tenant: of the stream.
    """

    __slots__ = ("_clock_end", "_clock_high", "_time_end", "_time_high", "_who")

    def __init__(self, agent_id: str, incarnation: int, run_id: str, tenant: str) -> None:
        self._who = _text(agent_id) + long_bytes(incarnation) + _text(run_id) + _text(tenant)
        self._clock_high: int | None = None
        self._time_high: int | None = None
        self._clock_end = self._time_end = b""

    def encode(
        self,
        seq: int,
        hlc: int,
        causes: Sequence[Cause],
        recorded_at_us: int,
        logical_time_us: int | None,
        trace: str | None = None,
    ) -> bytes:
        """The Avro bytes of a meta behind its hash."""
        told = b"\0" if logical_time_us is None else b"\2" + long_bytes(logical_time_us)
        caused = _causes(causes) if causes else b"\0"
        place = SMALL[seq] if 0 <= seq <= SMALL_MAX else long_bytes(seq)
        traced = b"\0" if trace is None else b"\2" + _text(trace)
        if hlc >> HIGH_SHIFT == self._clock_high and recorded_at_us >> HIGH_SHIFT == self._time_high:
            clock, time = hlc << 1, recorded_at_us << 1
            return b"".join((
                place, PAIRS[clock & 16383], PAIRS[clock >> 14 & 16383], self._clock_end, self._who, caused,
                PAIRS[time & 16383], PAIRS[time >> 14 & 16383], self._time_end, told, traced,
            ))  # fmt: skip
        self._learn(hlc, recorded_at_us)
        return b"".join((place, long_bytes(hlc), self._who, caused, long_bytes(recorded_at_us), told, traced))

    def _learn(self, hlc: int, recorded_at_us: int) -> None:
        if hlc >> HIGH_SHIFT > 0 and recorded_at_us >> HIGH_SHIFT > 0:
            self._clock_end, self._time_end = high_bytes(hlc), high_bytes(recorded_at_us)
            self._clock_high, self._time_high = hlc >> HIGH_SHIFT, recorded_at_us >> HIGH_SHIFT


def encode_rest(event_type: str, fields: Mapping[str, object]) -> bytes:
    """The Avro bytes of an event behind its meta; `fields` are those of `encode_record` without the meta.

    `encode_record` gives the event's hash, a `HeadEncoder`'s bytes, and these.

    Raises:
        SchemaMismatch: a field is missing, unknown or has a value that its type cannot hold.
    """
    try:
        return _rest_encoder(event_type)(fields)
    except UNFIT as error:
        raise SchemaMismatch(event_type, str(error)) from error


def _text(text: str) -> bytes:
    data = text.encode()
    return long_bytes(len(data)) + data


def _causes(causes: Sequence[Cause]) -> bytes:
    encode = _cause_encoder()
    items = [
        encode(
            {
                "run_id": cause.run_id,
                "agent_id": cause.agent_id,
                "incarnation": cause.incarnation,
                "seq": cause.seq,
                "hash": cause.hash,
            }
        )
        for cause in causes
    ]
    return long_bytes(len(items)) + b"".join(items) + b"\0"


@cache
def _rest_encoder(event_type: str) -> Encode:
    try:
        shape = shape_of(schema_of(current()[event_type]))
    except KeyError:
        raise SchemaMismatch(event_type, f"the event types are {', '.join(sorted(current()))}") from None
    return compile_encoder(Record(shape.name, shape.fields[1:]))


@cache
def _cause_encoder() -> Encode:
    meta = cast("Record", shape_of(schema_of(current()[_ANY_EVENT])).fields[0][1])
    causes = cast("Array", dict(meta.fields)["causes"])
    return compile_encoder(cast("Record", causes.items))
