"""The places of a unit's recorded order, where its steps began, its results arrived and its timers fired."""

from __future__ import annotations

from dataclasses import dataclass, field

from tachograph.core.boundary import CANCELLED, CANCELLED_READY, CANCELLED_WAITED, READY_AFTER, READY_WAITED
from tachograph.replay_workers._signal import Signal

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
    given_back: str | None = None
    """The message that came just when its receiver was cancelled, and that another one may get from here."""


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
    mail: dict[str, list[Place]] = field(default_factory=dict[str, list[Place]])
    """Where a message arrived, by its id: at the receivers that were cancelled just then, and last where it was taken."""

    @property
    def is_counted(self) -> bool:
        """Whether turns and timers could be seen on the loop of the recording."""
        return any(place is not None and (place.timer is not None or place.gap is not None) for place in self.places)


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


def came_when_cancelled(yields: int) -> bool:
    """Whether a call was about to go on when it was cancelled."""
    return yields <= READY_WAITED or _is_ready(yields)


def _is_ready(yields: int) -> bool:
    return CANCELLED_WAITED < yields <= CANCELLED_READY
