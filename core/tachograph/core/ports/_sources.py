"""Ports to time and chance, and to the transports of messages."""

from __future__ import annotations

from typing import Protocol

from tachograph.core.boundary import Envelope


class Clock(Protocol):
    """Wall time."""

    def now_us(self) -> int:
        """Microseconds since 1970."""
        ...


class Transport(Protocol):
    """Carries envelopes between agents; at least once, in order per pair of agents."""

    def deliver(self, envelope: Envelope) -> None:
        """Hand an envelope over; blocks until it is taken."""
        ...

    async def deliver_async(self, envelope: Envelope) -> None:
        """`deliver` without blocking the event loop."""
        ...

    def collect(self, run_id: str, agent_id: str) -> Envelope:
        """Wait for the next envelope for an agent."""
        ...

    async def collect_async(self, run_id: str, agent_id: str) -> Envelope:
        """`collect` without blocking the event loop."""
        ...
