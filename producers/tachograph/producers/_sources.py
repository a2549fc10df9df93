"""Where a recording gets time, chance and ids from: the one module of this package that asks the system for them."""

from __future__ import annotations

import secrets
import time
import uuid
from collections.abc import Callable

from tachograph.core.boundary import Sources


class SystemSources:
    """The machine's clock, and randomness that nobody can guess."""

    def now_us(self) -> int:
        """Wall time, microseconds since 1970."""
        return time.time_ns() // 1000

    def seed(self) -> int:
        """128 unguessable bits."""
        return secrets.randbits(128)

    def new_id(self) -> str:
        """A fresh unguessable id."""
        return str(uuid.uuid4())


def new_run_id() -> str:
    """A fresh run id: 128 unguessable bits, whatever the recording's own sources are."""
    return f"run-{secrets.token_hex(16)}"


def wall_clock_ns(sources: Sources) -> Callable[[], int]:
    """Wall time, nanoseconds since 1970, without a step between where the sources are the machine's."""
    if type(sources) is SystemSources:
        return time.time_ns
    return lambda: sources.now_us() * 1000


def monotonic_ns() -> int:
    """For measuring spans of time; nothing recorded depends on it."""
    return time.monotonic_ns()
