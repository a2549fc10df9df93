"""Time: the only place of this room that reads clocks."""

from __future__ import annotations

import time


def monotonic_s() -> float:
    """For spans of time."""
    return time.monotonic()


def now_ms() -> int:
    """Wall time, milliseconds since 1970."""
    return time.time_ns() // 1_000_000
