"""Where a fork gets its id and the time from: the one module of this package that asks the system for them."""

from __future__ import annotations

import secrets
import time


def new_run_id() -> str:
    """A fresh run id: 128 unguessable bits."""
    return f"run-{secrets.token_hex(16)}"


def now_us() -> int:
    """Wall time, microseconds since 1970."""
    return time.time_ns() // 1000
