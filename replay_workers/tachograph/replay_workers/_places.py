"""The recorded order of a unit: where each step began and each result arrived, over all of its streams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tachograph.core.boundary import (
    CANCELLED,
    CANCELLED_READY,
    CANCELLED_WAITED,
    READY_AFTER,
    READY_WAITED,
    WAITED,
    split_gap,
)
from tachograph.core.replay import Fixture, Step, StreamSteps
from tachograph.replay_workers._signal import Signal
from tachograph.schemas import GAP_MAX, quick

END = -1
"""Piece number of a call's end."""

BARE_TURNS_MAX = 16
"""A call that took more turns than this is resumed by the schedule instead of yielding that often."""

StreamKey = tuple[str, int]
"""(agent_id, incarnation)."""

PlaceKey = tuple[StreamKey, int, int]
"""(stream, step number, piece or `END`)."""


@dataclass(frozen=True, slots=True)
class FiredTimer:
    """A timer of control logic that fired in the recording."""

    stream: StreamKey
    number: int
    """Which of its stream's timers, from 1."""
    delay_us: int
    gap: int
    seq: int
    hlc: int


@dataclass(slots=True)
class Place:
    """Where a result arrived, or a timer fired, which a replay has to let happen there."""

    index: int
    """In the unit's order."""
    at: float
    """Seconds since the unit's first event."""
    gap: int | None
    """Turns since the anchor before it; None: apart, or counted from the call's own beginning."""
    turns: int | None
    """Turns since the call's own beginning; None: not counted from there."""
    lead: int = 0
    """How many turns before its own it hears of its cancellation."""
    own: int | None = None
    """Turns since the call's own beginning, where these may place it just as well."""
    rank: int = 0
    """How many timers fired before its cause, in the turn before this one."""
    due: int | None = None
    """The turn in which it is to be released."""
    signal: Signal | None = None
    """What control logic waits on, once it does."""
    released: bool = False
    timer: FiredTimer | None = None
    """Set where it is a timer that fires here."""
    induced: bool = False
    """Control logic ended the call itself: nothing is released here, but it happened at this place."""
    mailed: bool = False
    """A message arrives here that the unit itself is still to send."""


@dataclass(slots=True)
class Order:
    """Every beginning and every arrival of a unit, in recorded order."""

    places: list[Place | None] = field(default_factory=list[Place | None])
    """None: a step begins here."""
    begins: dict[StreamKey, list[int]] = field(default_factory=dict[StreamKey, list[int]])
    """Index of the beginning of each step, by stream and step number - 1."""
    agents: list[str] = field(default_factory=list[str])
    """Whose event it is."""
    hlc: list[int] = field(default_factory=list[int])
    at: list[float] = field(default_factory=list[float])
    """Seconds since the unit's first event; of a beginning: when it was surely over."""
    arrivals: dict[PlaceKey, Place] = field(default_factory=dict[PlaceKey, Place])
    mail: dict[str, Place] = field(default_factory=dict[str, Place])
    """Where a message arrived, by its id."""

    @property
    def is_counted(self) -> bool:
        """Whether turns and timers could be seen on the loop of the recording."""
        return any(place is not None and (place.timer is not None or place.gap is not None) for place in self.places)


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
    for stream in streams:
        _find_mail(order, stream)
    if order.mail:
        for stream in streams:
            _mark_mailed(order, stream)
    return order


def message_id(sender: StreamKey, number: int) -> str:
    """The id of a stream's n-th message, from 1."""
    return f"{sender[0]}#{sender[1]}/{number}"


def _find_mail(order: Order, stream: StreamSteps) -> None:
    """Which results of a stream are messages that had to be waited for."""
    for step, fixture in zip(stream.steps, stream.fixtures, strict=True):
        if fixture is not None and fixture.message_id is not None:
            place = order.arrivals.get(((stream.agent_id, stream.incarnation), step.number, END))
            if place is not None:
                order.mail[fixture.message_id] = place


def _mark_mailed(order: Order, stream: StreamSteps) -> None:
    """The places of the messages that a stream sends."""
    sends = sum(step.kind == "send" for step in stream.steps)
    for number in range(1, sends + 1):
        place = order.mail.get(message_id((stream.agent_id, stream.incarnation), number))
        if place is not None:
            place.mailed = True


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


def own_turns(yields: int) -> int | None:
    """The turns that a call took from its beginning, till it ended or heard of its cancellation; else None."""
    if yields >= 0:
        return yields
    return (CANCELLED_READY - yields) % READY_AFTER if _is_ready(yields) else None


def after_turns(yields: int) -> int:
    """The turns that a call took to end after it had heard of its cancellation."""
    if yields <= READY_WAITED:
        return READY_WAITED - yields
    if _is_ready(yields):
        return (CANCELLED_READY - yields) // READY_AFTER
    return CANCELLED - yields if CANCELLED_READY < yields <= CANCELLED else 0


def _is_ready(yields: int) -> bool:
    return CANCELLED_WAITED < yields <= CANCELLED_READY


def _moment(times: Times, entry: _Entry) -> int:
    known = times.get(entry.stream, ())
    return known[entry.seq - 1] if 0 < entry.seq <= len(known) else (entry.hlc >> 16) * 1000
