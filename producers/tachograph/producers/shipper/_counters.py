"""What a shipper counts."""

from __future__ import annotations

from dataclasses import dataclass, field

from tachograph.stores.shipping import STUCK_REASONS, StuckReason


def _none() -> dict[StuckReason, int]:
    return dict.fromkeys(STUCK_REASONS, 0)


@dataclass(slots=True)
class Counters:
    """What a shipper did, over all lives of its thread. Written by one thread, read by any."""

    events: int = 0
    bytes: int = 0
    bodies: int = 0
    resent: int = 0
    stuck: dict[StuckReason, int] = field(default_factory=_none)
    """Now, by kind of reason."""
    failures: int = 0
    latest_error: str | None = None
