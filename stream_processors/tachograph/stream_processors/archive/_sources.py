"""The clock of the archive: the only place of it that reads one."""

from __future__ import annotations

import time


def monotonic_s() -> float:
    """Seconds of a clock that only goes forward."""
    return time.monotonic()
