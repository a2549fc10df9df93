"""Names that cannot be guessed and sort by time: the only place of the stores that reads clock and chance."""

from __future__ import annotations

import secrets
import time

KEY_BYTES = 32


def random_name() -> str:
    """64 unguessable bits."""
    return secrets.token_hex(8)


def spool_name() -> str:
    """A directory name that sorts by the time of its making: milliseconds since 1970, then 64 unguessable bits."""
    return f"{time.time_ns() // 1_000_000:013d}-{random_name()}"


def fresh_key() -> bytes:
    """A digest key."""
    return secrets.token_bytes(KEY_BYTES)


def random_bytes(count: int) -> bytes:
    """Unguessable bytes."""
    return secrets.token_bytes(count)


def now_us() -> int:
    """Wall time, microseconds since 1970."""
    return time.time_ns() // 1000
