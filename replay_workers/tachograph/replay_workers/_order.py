"""The recorded order of a unit: where each step began and each result arrived, over all of its streams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tachograph.core.boundary import CANCELLED, CANCELLED_READY, WAITED, split_gap
from tachograph.core.replay import Fixture, Step, StreamSteps
from tachograph.replay_workers._mail import find_mail
from tachograph.replay_workers._places import END, FiredTimer, Order, Place, StreamKey, after_turns, own_turns
from tachograph.schemas import GAP_MAX, quick

Times = Mapping[StreamKey, Sequence[int]]
"""Microseconds of every event of a stream, by `seq - 1`."""


@quick
@dataclass(frozen=True, slots=True)
class _Entry:
    """A place in the making."""

    hlc: int
    stream: StreamKey
    number: int
    piece: int
    """`_BEGIN`, `_TIMER`, `END`, or a piece's number."""
    seq: int
    yields: int = 0
    gap: int = 0
    timer: FiredTimer | None = None


_BEGIN = -2
_TIMER = -3


def order_of(streams: Sequence[StreamSteps], times: Times, timers: Sequence[FiredTimer] = ()) -> Order:
    """The order of a unit's streams, with the timers that fired."""
    entries = [_Entry(one.hlc, one.stream, 0, _TIMER, one.seq, 0, one.gap, one) for one in timers]
    for stream in streams:
        _collect(entries, stream, timers)
    entries.sort(key=_key)
    order = Order()
    base = min((when[0] for when in times.values() if when), default=0)
    for stream in streams:
        order.begins[stream.agent_id, stream.incarnation] = [0] * len(stream.steps)
    for index, entry in enumerate(entries):
        _place(order, index, entry, (_moment(times, entry) - base) / 1e6)
    find_mail(order, streams)
    return order


def _key(entry: _Entry) -> tuple[int, StreamKey, int, int]:
    return entry.hlc, entry.stream, entry.number, entry.piece


def _collect(entries: list[_Entry], stream: StreamSteps, timers: Sequence[FiredTimer]) -> None:
    key = (stream.agent_id, stream.incarnation)
    alien = _seqs(stream)
    alien.update(timer.seq for timer in timers if timer.stream == key)
    for step, fixture in zip(stream.steps, stream.fixtures, strict=True):
        over = _over(step, fixture, alien, stream.last_seq)
        entries.append(_Entry(step.hlc, key, step.number, _BEGIN, over))
        if fixture is None:
            continue
        for index, piece in enumerate(fixture.pieces):
            if piece.yields != 0:
                entries.append(_Entry(piece.hlc, key, step.number, index, piece.seq, piece.yields, piece.gap))
        if fixture.outcome is not None and fixture.yields != 0:
            entries.append(_Entry(fixture.hlc, key, step.number, END, fixture.seq, fixture.yields, fixture.gap))


def _seqs(stream: StreamSteps) -> set[int]:
    """`seq` of every event that does not belong to what came before it at once."""
    found = {step.seq for step in stream.steps if step.kind != "agent"}
    for fixture in stream.fixtures:
        if fixture is not None:
            found.update(piece.seq for piece in fixture.pieces if piece.yields != 0)
            if fixture.yields != 0:
                found.add(fixture.seq)
    return found


def _over(step: Step, fixture: Fixture | None, alien: set[int], last: int) -> int:
    """`seq` of the last event that followed the step's beginning at once: its end, or an effect's move."""
    seq = step.seq
    if fixture is None or step.kind == "agent":
        return seq
    while seq < last and seq + 1 not in alien:
        seq += 1
    return seq


def _place(order: Order, index: int, entry: _Entry, at: float) -> None:
    order.agents.append(entry.stream[0])
    order.hlc.append(entry.hlc)
    order.at.append(at)
    if entry.piece == _BEGIN:
        order.begins[entry.stream][entry.number - 1] = index
        order.places.append(None)
        return
    turns = own_turns(entry.yields) if entry.timer is None else None
    induced = CANCELLED_READY < entry.yields <= CANCELLED
    gap = split_gap(GAP_MAX if turns is not None or induced else entry.gap)
    place = Place(index, at, gap.turns, turns, after_turns(entry.yields) if turns is None else 0, rank=gap.rank)
    place.own = gap.own if entry.yields == WAITED and gap.turns is not None else None
    place.induced = induced or (entry.yields < 0 and turns is not None)
    place.timer = entry.timer
    order.places.append(place)
    if entry.timer is None:
        order.arrivals[entry.stream, entry.number, entry.piece] = place


def _moment(times: Times, entry: _Entry) -> int:
    known = times.get(entry.stream, ())
    return known[entry.seq - 1] if 0 < entry.seq <= len(known) else (entry.hlc >> 16) * 1000
