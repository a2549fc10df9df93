"""Time that passes: the only place of this room that reads a clock."""

from __future__ import annotations

import time


def monotonic_s() -> float:
    """For spans of time; nothing that is stored depends on it."""
    return time.monotonic()
