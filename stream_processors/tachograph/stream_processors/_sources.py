"""The clock of the processors: the only place that reads one."""

from __future__ import annotations

import time


def monotonic_s() -> float:
    """Seconds of a clock that only goes forward."""
    return time.monotonic()
