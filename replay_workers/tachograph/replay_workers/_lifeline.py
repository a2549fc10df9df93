"""Waiting for a forked child while watching whether somebody still waits for what it does."""

from __future__ import annotations

import os
import select
import signal


class Lifeline:
    """A pipe that a forked child holds one end of until it dies; made before the fork.

    Control logic may loop for ever, and whoever would stop it at a limit can be killed: the child must not outlive it.
    """

    def __init__(self) -> None:
        self._watched, self._held = os.pipe()

    def wait(self, child: int, parent: int) -> int:
        """Wait for a child, and kill it when nobody holds the other end of the parent's pipe; its wait status.

        Args:
            child: its process id.
            parent: the descriptor that the parent's requests are read from.
        """
        os.close(self._held)
        try:
            if not self._ends_before(parent):
                os.kill(child, signal.SIGKILL)  # not yet waited for, so the id is still its own
        finally:
            os.close(self._watched)
        return os.waitpid(child, 0)[1]

    def _ends_before(self, parent: int) -> bool:
        """Whether the child lets go of its end while the parent is there."""
        ends = select.poll()
        ends.register(self._watched, 0)  # no event asked for: hanging up is always told
        ends.register(parent, 0)
        hung_up = {descriptor for descriptor, _ in ends.poll()}
        return self._watched in hung_up
