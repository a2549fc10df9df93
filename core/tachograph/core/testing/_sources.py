"""Time and chance that a test decides."""

from __future__ import annotations

import random

from tachograph.core.ports import Clock


class FixedClock:
    """A `Clock` that goes only when told to."""

    def __init__(self, now_us: int = 1_700_000_000_000_000, step_us: int = 0) -> None:
        self._now_us = now_us
        self._step_us = step_us

    def now_us(self) -> int:
        """The time, microseconds since 1970; every reading moves it on by `step_us`."""
        now = self._now_us
        self._now_us += self._step_us
        return now

    def advance(self, us: int) -> None:
        """Move the time on; backwards if negative."""
        self._now_us += us


class SeededSources:
    """`Sources` that give the same for the same seed."""

    def __init__(self, seed: int = 0, clock: Clock | None = None) -> None:
        self._random = random.Random(seed)  # noqa: S311  # a fake that repeats itself
        self._clock = clock or FixedClock(step_us=1000)

    def now_us(self) -> int:
        """The clock's time, microseconds since 1970."""
        return self._clock.now_us()

    def seed(self) -> int:
        """The next 128 bits."""
        return self._random.getrandbits(128)

    def new_id(self) -> str:
        """The next id."""
        return f"id-{self._random.getrandbits(64):016x}"
