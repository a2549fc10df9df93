"""What a shipper counts."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Counters:
    """What a shipper did, over all lives of its thread. Written by one thread, read by any."""

    events: int = 0
    bytes: int = 0
    bodies: int = 0
    resent: int = 0
    stuck: int = 0
    failures: int = 0
    latest_error: str | None = None
