"""The only place of the command line that reads a clock."""

from __future__ import annotations

import time


def now_us() -> int:
    """Wall time, microseconds since 1970."""
    return time.time_ns() // 1000
