"""Threads of control logic take turns: each waits with its step until what the recording has before it has been done."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable

from tachograph.replay_workers._rest import others_rest

_REST_SECONDS = 0.5
"""A thread that is out of its recorded turn goes on when the others rest for so long."""


class Turns:
    """Who waits for its turn; where all others rest, the recording's next one goes on, whichever thread was there first."""

    def __init__(self) -> None:
        self.lock = threading.Condition()
        """Held by whoever calls; others may take it while one waits."""
        self._waiting: list[tuple[int, int]] = []
        self._numbers = itertools.count()
        self._taken = 0
        """Steps that were taken, by any thread."""

    def taken(self) -> None:
        """A step was taken."""
        self._taken += 1
        self.lock.notify_all()

    def wait(self, place: int, is_turn: Callable[[], bool]) -> None:
        """Wait for a turn, or until nothing else goes on.

        Args:
            place: of the step in the recorded order.
            is_turn: whether it need not wait.
        """
        mine = (place, next(self._numbers))
        self._waiting.append(mine)
        try:
            while not is_turn() and not self._others_rest(mine):
                pass
        finally:
            self._waiting.remove(mine)
            self.lock.notify_all()

    def _others_rest(self, mine: tuple[int, int]) -> bool:
        """Sleep until there may be something new; whether all others have rested meanwhile, and this one is the next."""
        if min(self._waiting) != mine:
            self.lock.wait(_REST_SECONDS)
            return False
        taken = self._taken

        def changed(seconds: float) -> bool:
            self.lock.wait(seconds)
            return self._taken != taken or min(self._waiting) != mine

        return others_rest(_REST_SECONDS, changed)
