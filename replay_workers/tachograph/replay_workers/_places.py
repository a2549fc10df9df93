"""The recorded order of a unit: where each step began and each result arrived, over all of its streams."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tachograph.core.boundary import CANCELLED_WAITED, WAITED
from tachograph.core.replay import StreamSteps
from tachograph.schemas import GAP_MAX

END = -1
"""Piece number of a call's end."""

BARE_TURNS_MAX = 16
"""A call that took more turns than this is resumed by the schedule instead of yielding that often."""

StreamKey = tuple[str, int]
"""(agent_id, incarnation)."""

PlaceKey = tuple[StreamKey, int, int]
"""(stream, step number, piece or `END`)."""


@dataclass(slots=True)
class Place:
    """Where a result arrived that a replay has to release."""

    index: int
    """In the unit's order."""
    at: float
    """Seconds since the unit's first event."""
    gap: int | None
    """Turns since the arrival before it; None: apart, or counted from the call's own beginning."""
    turns: int | None
    """Turns since the call's own beginning; None: not counted from there."""
    due: int | None = None
    """The turn in which it is to be released."""
    future: asyncio.Future[None] | None = None
    """What control logic waits on, once it does."""
    released: bool = False


@dataclass(slots=True)
class Order:
    """Every beginning and every arrival of a unit, in recorded order."""

    places: list[Place | None] = field(default_factory=list)
    """None: a step begins here."""
    begins: dict[StreamKey, list[int]] = field(default_factory=dict)
    """Index of the beginning of each step, by stream and step number - 1."""
    agents: list[str] = field(default_factory=list)
    """Whose event it is."""
    at: list[float] = field(default_factory=list)
    """Seconds since the unit's first event."""
    arrivals: dict[PlaceKey, Place] = field(default_factory=dict)


Times = Mapping[StreamKey, Sequence[int]]
"""Microseconds of every event of a stream, by `seq - 1`."""

_Entry = tuple[int, StreamKey, int, int, int, int, int]
"""(hlc, stream, number, piece or -2 for a beginning, seq, yields, gap)."""

_BEGIN = -2


def order_of(streams: Sequence[StreamSteps], times: Times) -> Order:
    """The order of a unit's streams."""
    entries: list[_Entry] = []
    for stream in streams:
        _collect(entries, stream)
    entries.sort()
    order = Order()
    base = min((when[0] for when in times.values() if when), default=0)
    for stream in streams:
        order.begins[stream.agent_id, stream.incarnation] = [0] * len(stream.steps)
    for index, entry in enumerate(entries):
        _place(order, index, entry, (_moment(times, entry) - base) / 1e6)
    return order


def _collect(entries: list[_Entry], stream: StreamSteps) -> None:
    key = (stream.agent_id, stream.incarnation)
    for step, fixture in zip(stream.steps, stream.fixtures, strict=True):
        entries.append((step.hlc, key, step.number, _BEGIN, step.seq, 0, 0))
        if fixture is None:
            continue
        for index, piece in enumerate(fixture.pieces):
            if _is_arrival(piece.yields):
                entries.append((piece.hlc, key, step.number, index, piece.seq, piece.yields, piece.gap))
        if fixture.outcome is not None and _is_arrival(fixture.yields):
            entries.append((fixture.hlc, key, step.number, END, fixture.seq, fixture.yields, fixture.gap))


def _is_arrival(yields: int) -> bool:
    return yields in (WAITED, CANCELLED_WAITED) or yields > BARE_TURNS_MAX


def _place(order: Order, index: int, entry: _Entry, at: float) -> None:
    _, key, number, piece, _, yields, gap = entry
    order.agents.append(key[0])
    order.at.append(at)
    if piece == _BEGIN:
        order.begins[key][number - 1] = index
        order.places.append(None)
        return
    counted = yields > BARE_TURNS_MAX
    place = Place(index, at, None if counted or gap >= GAP_MAX else gap, yields if counted else None)
    order.places.append(place)
    order.arrivals[key, number, piece] = place


def _moment(times: Times, entry: _Entry) -> int:
    hlc, key, seq = entry[0], entry[1], entry[4]
    known = times.get(key, ())
    return known[seq - 1] if 0 < seq <= len(known) else (hlc >> 16) * 1000
