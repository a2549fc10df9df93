"""A transport within one process."""

from __future__ import annotations

import asyncio
import threading
from collections import defaultdict, deque
from typing import TypeAlias

from tachograph.core.boundary import Envelope

_Address: TypeAlias = tuple[str, str]


class MemoryTransport:
    """A `Transport` in memory: exactly once, in order; threads and event loops may use it at once."""

    def __init__(self) -> None:
        self._boxes: dict[_Address, deque[Envelope]] = defaultdict(deque)
        self._sleepers: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []
        self._changed = threading.Condition()
        self.delivered: list[Envelope] = []
        """Everything that was ever handed over, in order."""

    def deliver(self, envelope: Envelope) -> None:
        """Hand an envelope over."""
        with self._changed:
            self.delivered.append(envelope)
            self._boxes[envelope.run_id, envelope.to_agent_id].append(envelope)
            self._changed.notify_all()
            for loop, event in self._sleepers:
                loop.call_soon_threadsafe(event.set)

    async def deliver_async(self, envelope: Envelope) -> None:
        """`deliver`; it never waits."""
        self.deliver(envelope)

    def collect(self, run_id: str, agent_id: str) -> Envelope:
        """Wait for the next envelope for an agent."""
        box = self._boxes[run_id, agent_id]
        with self._changed:
            self._changed.wait_for(lambda: bool(box))
            return box.popleft()

    async def collect_async(self, run_id: str, agent_id: str) -> Envelope:
        """`collect` without blocking the event loop."""
        box = self._boxes[run_id, agent_id]
        sleeper = (asyncio.get_running_loop(), asyncio.Event())
        with self._changed:
            self._sleepers.append(sleeper)
        try:
            while True:
                sleeper[1].clear()
                with self._changed:
                    if box:
                        return box.popleft()
                await sleeper[1].wait()
        finally:
            with self._changed:
                self._sleepers.remove(sleeper)
