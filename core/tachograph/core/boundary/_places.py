"""How the place of a result in the turns of an event loop is written down: `Delivery.yields` and `Delivery.gap`."""

from __future__ import annotations

from dataclasses import dataclass

from tachograph.schemas import GAP_MAX

WAITED = -1
"""`yields` of a call that waited for the world."""

CANCELLED = -2
"""`yields` of a call that ended in the turn after its cancellation; n less: n turns later."""

CANCELLED_READY = -500_000
"""`yields` of a call that was about to go on when it was cancelled; n less: it took n turns from its beginning until it
heard of that, and for each `READY_AFTER` in n one more until it ended."""

READY_AFTER = 10_000
"""See `CANCELLED_READY`."""

CANCELLED_WAITED = -1_000_000
"""`yields` of a call that was cancelled and waited for something before it ended."""

READY_WAITED = -2_000_000
"""`yields` of a call that the world had answered just when it was cancelled; n less: it ended n turns later."""

_RANK = 2 * GAP_MAX
"""A gap is turns, and this times how many timers of control logic fired in the same turn before the cause, …"""

_OWN = _RANK << 16
"""… and this times the turns that the call took, where nobody knows whether it waited for what came in meanwhile."""


@dataclass(frozen=True, slots=True)
class Gap:
    """A recorded gap, taken apart."""

    turns: int | None
    """Since the anchor; None where they are not known."""
    rank: int
    """Among the timers of the turn before."""
    own: int | None
    """Turns since the call's beginning, where that may be what places it."""


def split_gap(gap: int) -> Gap:
    """Take a recorded gap apart."""
    own, rest = divmod(gap, _OWN)
    rank, turns = divmod(rest, _RANK)
    return Gap(turns if turns < GAP_MAX else None, rank, own or None)


def joined_gap(turns: int, rank: int, own: int) -> int:
    """The inverse of `split_gap`, for turns that are known or GAP_MAX."""
    return turns + rank * _RANK + own * _OWN
