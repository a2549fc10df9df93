"""Clock reads that bypass the boundary: noticed, and answered from virtual time so that a verdict never depends on when."""

from __future__ import annotations

import datetime as real
import time
from collections.abc import Callable
from typing import Any

from tachograph.replay_workers._watch import Watch

Patch = tuple[object, str, object]
"""(owner, attribute, what it becomes)."""

_MONOTONIC_BASE = 1_000.0
_FAST_READS = 1_000
"""After so many reads without anything happening, control logic waits for time to pass."""


class VirtualClock:
    """Time as control logic may read it: the unit's virtual time, and a little more with every read."""

    def __init__(self, started_at_us: int, now: Callable[[], float], advance: Callable[[float], None]) -> None:
        self._started_at_us = started_at_us
        self._now = now
        self._advance = advance
        self._reads = 0
        self._ahead = 0.0

    def elapsed(self) -> float:
        """Seconds since the unit began."""
        self._reads += 1
        self._ahead += 1e-6 if self._reads < _FAST_READS else 1e-3
        return self._now() + self._ahead

    def wall(self) -> float:
        """Seconds since 1970."""
        return self._started_at_us / 1e6 + self.elapsed()

    def monotonic(self) -> float:
        """Seconds of a clock that never goes back."""
        return _MONOTONIC_BASE + self.elapsed()

    def sleep(self, seconds: float) -> None:
        """Let virtual time pass."""
        self._advance(max(0.0, seconds))


def time_patches(watch: Watch, clock: VirtualClock) -> list[Patch]:
    """What replaces the functions of `time` and the classes of `datetime`."""
    patches: list[Patch] = []
    for name, read in _reads(clock).items():
        if hasattr(time, name):
            patches.append((time, name, _noticing(watch, f"time.{name}", read)))
    for name in ("localtime", "gmtime", "ctime"):
        patches.append((time, name, _defaulting(watch, name, getattr(time, name), clock)))
    patches += _formatting(watch, clock)
    for name, unit in (("clock_gettime", 1), ("clock_gettime_ns", 1_000_000_000)):
        if hasattr(time, name):
            patches.append((time, name, _of_a_clock(watch, name, clock, unit)))
    patches.append((time, "sleep", clock.sleep))
    patches.append((real, "datetime", _datetime_class(watch, clock)))
    patches.append((real, "date", _date_class(watch, clock)))
    return patches


def _reads(clock: VirtualClock) -> dict[str, Callable[[], object]]:
    def nanoseconds(seconds: Callable[[], float]) -> Callable[[], int]:
        return lambda: int(seconds() * 1e9)

    return {
        "time": clock.wall,
        "time_ns": nanoseconds(clock.wall),
        "monotonic": clock.monotonic,
        "monotonic_ns": nanoseconds(clock.monotonic),
        "perf_counter": clock.monotonic,
        "perf_counter_ns": nanoseconds(clock.monotonic),
        "process_time": clock.elapsed,
        "process_time_ns": nanoseconds(clock.elapsed),
        "thread_time": clock.elapsed,
        "thread_time_ns": nanoseconds(clock.elapsed),
    }


def _noticing(watch: Watch, what: str, read: Callable[[], object]) -> Callable[[], object]:
    def noticed() -> object:
        watch.read(what, "clock")
        return read()

    return noticed


def _defaulting(
    watch: Watch, name: str, convert: Callable[[float], object], clock: VirtualClock
) -> Callable[[float | None], object]:
    """A conversion that reads the clock when it is given no time."""

    def converted(seconds: float | None = None) -> object:
        if seconds is None:
            watch.read(f"time.{name}", "clock")
            seconds = clock.wall()
        return convert(seconds)

    return converted


def _formatting(watch: Watch, clock: VirtualClock) -> list[Patch]:
    """Functions that write the time as text, and read the clock when they are given none."""
    asctime, local, strftime = time.asctime, time.localtime, time.strftime

    def written(moment: Any = None) -> str:  # a struct_time, or a tuple of as many numbers
        return asctime(_moment("asctime") if moment is None else moment)

    def formatted(text: str, moment: Any = None) -> str:
        return strftime(text, _moment("strftime") if moment is None else moment)

    def _moment(name: str) -> time.struct_time:
        watch.read(f"time.{name}", "clock", depth=2)
        return local(clock.wall())

    return [(time, "asctime", written), (time, "strftime", formatted)]


def _of_a_clock(watch: Watch, name: str, clock: VirtualClock, unit: int) -> Callable[[int], float]:
    def read(clock_id: int) -> float:
        watch.read(f"time.{name}", "clock")
        seconds = clock.wall() if clock_id == time.CLOCK_REALTIME else clock.monotonic()
        return seconds if unit == 1 else int(seconds * unit)

    return read


class _StandIn(type):
    """Class of a class that stands in for one of `datetime`'s: instances are the real one's."""

    _stands_for: type

    def __instancecheck__(cls, instance: object) -> bool:
        return (
            isinstance(instance, cls._stands_for) if "_stands_for" in vars(cls) else super().__instancecheck__(instance)
        )

    def __subclasscheck__(cls, subclass: type) -> bool:
        if "_stands_for" in vars(cls):
            return issubclass(subclass, cls._stands_for)
        return super().__subclasscheck__(subclass)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:  # a constructor's arguments
        if "_stands_for" in vars(cls):
            return cls._stands_for(*args, **kwargs)
        return super().__call__(*args, **kwargs)


def _datetime_class(watch: Watch, clock: VirtualClock) -> type:
    genuine = real.datetime

    class datetime(real.datetime, metaclass=_StandIn):  # noqa: N801 it stands in for this one
        _stands_for = genuine

        @classmethod
        def now(cls, tz: real.tzinfo | None = None) -> real.datetime:  # type: ignore[override]
            watch.read("datetime.now", "clock")
            return genuine.fromtimestamp(clock.wall(), tz)

        @classmethod
        def today(cls) -> real.datetime:  # type: ignore[override]
            watch.read("datetime.today", "clock")
            return genuine.fromtimestamp(clock.wall())

        @classmethod
        def utcnow(cls) -> real.datetime:  # type: ignore[override]
            watch.read("datetime.utcnow", "clock")
            return genuine.fromtimestamp(clock.wall(), real.UTC).replace(tzinfo=None)

    datetime.__module__ = "datetime"
    datetime.__qualname__ = "datetime"
    return datetime


def _date_class(watch: Watch, clock: VirtualClock) -> type:
    genuine = real.date

    class date(real.date, metaclass=_StandIn):  # noqa: N801 it stands in for this one
        _stands_for = genuine

        @classmethod
        def today(cls) -> real.date:  # type: ignore[override]
            watch.read("date.today", "clock")
            return genuine.fromtimestamp(clock.wall())

    date.__module__ = "datetime"
    date.__qualname__ = "date"
    return date
