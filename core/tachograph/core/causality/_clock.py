"""The hybrid logical clock (Kulkarni, Demirbas et al., 2014): wall time that never contradicts causality."""

from __future__ import annotations

import threading
from collections.abc import Callable

_COUNTER_BITS = 16
_US_PER_MS = 1000

AHEAD_MS_MAX = 60_000
"""How far ahead of the local clock a remote one may be and still be believed."""


def hlc_ms(hlc: int) -> int:
    """The milliseconds since 1970 of an hlc."""
    return hlc >> _COUNTER_BITS


class HybridClock:
    """Gives every event of a process an hlc above all that the event could have known of. Safe to share between threads.

    An hlc is 48 bits of milliseconds and 16 bits of counter. Where the counter is used up within a millisecond it
    carries over into the next one; where the wall clock goes back the counter goes on from where it was.

    Args:
        now_us: wall time, microseconds since 1970.
        ahead_ms_max: a remote hlc further ahead than this is not adopted.
    """

    __slots__ = ("_ahead_ms_max", "_last", "_lock", "_now_us")

    def __init__(self, now_us: Callable[[], int], ahead_ms_max: int = AHEAD_MS_MAX) -> None:
        self._now_us = now_us
        self._ahead_ms_max = ahead_ms_max
        self._last = 0
        self._lock = threading.Lock()

    def tick(self) -> int:
        """The hlc of a new event: above every hlc given out or adopted before."""
        with self._lock:
            return self.tick_at(self._now_us())

    def tick_at(self, now_us: int) -> int:
        """`tick` at a time that was just read; for a caller that keeps other threads out itself."""
        wall = now_us // _US_PER_MS << _COUNTER_BITS
        last = self._last + 1
        self._last = last = wall if wall > last else last  # noqa: FURB136 a call would cost as much as all the rest
        return last

    def observe(self, remote: int) -> bool:
        """Take note of a received event's hlc, so that the next tick lies above it.

        Returns:
            False when the remote clock is too far ahead to be believed: nothing was adopted, and the receiving event
            is to be flagged, since its hlc may lie below its cause's.
        """
        believed_ms = self._now_us() // _US_PER_MS + self._ahead_ms_max
        with self._lock:
            if remote > self._last:
                if hlc_ms(remote) > believed_ms:
                    return False
                self._last = remote
            return True
