"""Whether partitions move: a consumer can be alive, answer its group's heartbeat, and never read again."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import Final

from tachograph.core.errors import StoreUnavailable
from tachograph.stores.kafka import GroupWatch, TopicPartition

STALL_SECONDS: Final = 120.0
"""A partition with records that does not move for so long, while the cluster answers, ends the process."""

_LOOKS: Final = 10
"""How often it is looked at the group within that time."""


class Stall:
    """Remembers since when each partition has stood still.

    Args:
        seconds: for which one may.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._since: dict[TopicPartition, tuple[int, float]] = {}

    def look(self, behind: Mapping[TopicPartition, int], now_s: float) -> list[TopicPartition]:
        """The partitions that stand still for too long.

        Args:
            behind: those that hold more, with the offset that they are at.
            now_s: of a clock that only goes forward.
        """
        since = {
            place: known if (known := self._since.get(place)) and known[0] == offset else (offset, now_s)
            for place, offset in behind.items()
        }
        self._since = since
        return sorted(place for place, (_, at) in since.items() if now_s - at >= self._seconds)

    def forget(self) -> None:
        """Nothing could move: it is looked at anew."""
        self._since.clear()


def watch_group(
    watch: Callable[[], GroupWatch], waits: Callable[[], bool], on_still: Callable[[str], None], seconds: float
) -> threading.Event:
    """Look at a group from a thread of its own, which a client that hangs cannot hold up.

    Args:
        watch: makes what looks.
        waits: whether a server fails, so that nothing can move.
        on_still: is told, once, which partitions stand still.
        seconds: for which they may.

    Returns:
        To be set when it is enough.
    """
    ended = threading.Event()

    def work() -> None:
        stall = Stall(seconds)
        with watch() as group:
            while not ended.wait(seconds / _LOOKS):
                try:
                    behind = group.behind()
                except StoreUnavailable:
                    stall.forget()
                    continue
                if waits():
                    stall.forget()
                elif still := stall.look(behind, time.monotonic()):
                    on_still(", ".join(f"{place.topic}/{place.partition}" for place in still))
                    return

    threading.Thread(target=work, name="insights-watch", daemon=True).start()
    return ended
