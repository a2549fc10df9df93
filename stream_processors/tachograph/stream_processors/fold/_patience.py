"""Waiting out faults that pass."""

from __future__ import annotations

import logging
from collections.abc import Callable
from threading import Event
from typing import Final, TypeVar

from tachograph.stores.kafka import KafkaUnavailable
from tachograph.stores.s3 import S3Unreachable
from tachograph.stream_processors._sources import monotonic_s

_LOG: Final = logging.getLogger("tachograph.fold")

T = TypeVar("T")

FAULTS = (S3Unreachable, KafkaUnavailable)
"""What passes by itself."""

_TIMES: Final = 8


class Patience:
    """Tries again while a fault may pass.

    Args:
        seconds: for so long, at most.
        pause: before the second attempt; longer before each further one.
        stop: set when the process is to end; faults are then no longer waited out.
        on_fault: called at each.
    """

    def __init__(self, seconds: float, pause: float, stop: Event, on_fault: Callable[[], None]) -> None:
        self._seconds = seconds
        self._pause = pause
        self._stop = stop
        self._on_fault = on_fault

    def __call__(self, attempt: Callable[[], T]) -> T:
        """The attempt's result.

        Raises:
            StoreUnavailable: the fault did not pass in time, or is none that passes.
        """
        until = monotonic_s() + self._seconds
        pause = self._pause
        while True:
            try:
                return attempt()
            except FAULTS as error:
                self._on_fault()
                if monotonic_s() + pause >= until or self._stop.wait(pause):
                    raise
                _LOG.warning("tachograph: trying again: %s", error)
                pause = min(2 * pause, _TIMES * self._pause)
