"""What a shipper shows of itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tachograph.stores.shipping import StuckReason


@dataclass(frozen=True, slots=True)
class ShipperStatistics:
    """A snapshot of a shipper's counters, since it was made."""

    events: int
    """Acknowledged."""
    bytes: int
    """Of their records."""
    bodies: int
    """Objects that are in S3, those that were there already included."""
    resent: int
    """Records sent again after a client ended; some of them are there twice, and readers drop what they have."""
    stuck: int
    """Events and bodies left out now; they stay in the spool, are named in its `stuck.jsonl`, and are tried again."""
    stuck_by_reason: Mapping[StuckReason, int]
    """The same by kind of reason."""
    waiting_bytes: int
    """Of this process's spools, not shipped yet."""
    spools: int
    """Of this process, looked after now."""
    failures: int
    """How often the servers could not be reached, or refused; it is tried again until they take it."""
    latest_error: str | None
    """The last of those failures, for a person."""
