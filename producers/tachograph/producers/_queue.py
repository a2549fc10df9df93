"""The bounded queue between callers and the writer: gives each event its place in its stream and in time.

One lock covers the sequence number, the clock's tick and the queue, so that the order of the queue is the order of the
hybrid clock, and a cause in this process always stands before its effect.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

from tachograph.core.causality import HybridClock
from tachograph.core.errors import AgentMisuse, SpoolUnwritable
from tachograph.producers._entry import Draft, Stream
from tachograph.producers._settings import Settings
from tachograph.producers._sources import monotonic_ns

_RUNNING, _LINGERING, _IDLE = 0, 1, 2

LINGER_S = 0.004
"""How long the writer gathers events before it works on them: short beside any model call, long beside one event."""


class Queue:
    """A bounded first-in first-out queue. Callers wait when it is full; nothing is ever dropped."""

    def __init__(self, now_us: Callable[[], int], settings: Settings) -> None:
        self.lock = threading.Lock()
        self.clock = HybridClock(now_us)
        self.put_total = 0
        """How many drafts were put: the ticket of the latest."""
        self.bytes = 0
        self.events_high = 0
        self.blocked_us = 0
        self.broken: SpoolUnwritable | None = None
        self._now_us = now_us
        self._drafts: deque[Draft] = deque()
        self._events_max = settings.queue_events_max
        self._bytes_max = settings.queue_bytes_max
        self._work = threading.Condition(self.lock)
        self._space = threading.Condition(self.lock)
        self._blocked = 0
        self._writer = _RUNNING

    def __len__(self) -> int:
        return len(self._drafts)

    def put(self, stream: Stream, draft: Draft, *, last: bool = False) -> int:
        """Append an event to its stream; returns the ticket to ask for its durability with.

        Args:
            stream: the stream; the draft gets its next `seq`.
            draft: the event.
            last: nothing comes after this event in its stream.

        Raises:
            AgentMisuse: the stream has ended.
            SpoolUnwritable: the log is broken.
        """
        size = draft.size()
        with self.lock:
            if len(self._drafts) >= self._events_max or self.bytes >= self._bytes_max:
                self._wait_for_space()
            if self.broken is not None:
                raise self.broken
            if stream.ended:
                raise _ended(stream)
            stream.seq = draft.seq = stream.seq + 1
            stream.ended = last
            draft.stream = stream
            draft.hlc = self.clock.tick()
            draft.recorded_at_us = self._now_us()
            draft.logical_time_us = stream.logical_time_us
            if draft.sent is not None:
                draft.sent.seq = draft.seq
            self._drafts.append(draft)
            self.bytes += size
            self.put_total = ticket = self.put_total + 1
            if self._writer == _IDLE:
                self._writer = _RUNNING
                self._work.notify()
        return ticket

    def take(self, count_max: int) -> list[Draft]:
        """The oldest drafts, in order; empty when there are none."""
        with self.lock:
            drafts = self._drafts
            waiting = len(drafts)
            self.events_high = max(self.events_high, waiting)
            if waiting <= count_max:
                taken = list(drafts)
                drafts.clear()
                self.bytes = 0
            else:
                taken = [drafts.popleft() for _ in range(count_max)]
                self.bytes -= sum(draft.size() for draft in taken)
            if self._blocked:
                self._space.notify_all()
        return taken

    def breaks(self, error: SpoolUnwritable) -> None:
        """From now on every `put` raises the error; what was waiting is lost."""
        with self.lock:
            self.broken = error
            self._drafts.clear()
            self.bytes = 0
            self._space.notify_all()

    def observe(self, hlc: int) -> bool:
        """A remote clock was seen. False: it was too far ahead, and clamped."""
        with self.lock:
            return self.clock.observe(hlc)

    def wake(self) -> None:
        """Let the writer work at once."""
        with self.lock:
            if self._writer != _RUNNING:
                self._writer = _RUNNING
                self._work.notify()

    def wait_for_work(self, timeout_s: float | None, urgent: Callable[[], bool]) -> None:
        """The writer's wait: until there are events, something is urgent, or the time is over."""
        with self.lock:
            if not self._drafts and not urgent():
                self._writer = _IDLE
                self._work.wait(timeout_s)
            if self._drafts and not urgent() and len(self._drafts) < self._events_max // 2:
                self._writer = _LINGERING
                self._work.wait(LINGER_S)
            self._writer = _RUNNING

    def _wait_for_space(self) -> None:
        since = monotonic_ns()
        self._blocked += 1
        try:
            while self.broken is None and (len(self._drafts) >= self._events_max or self.bytes >= self._bytes_max):
                self._writer = _RUNNING
                self._work.notify()
                self._space.wait()
        finally:
            self._blocked -= 1
            self.events_high = max(self.events_high, len(self._drafts))
            self.blocked_us += (monotonic_ns() - since) // 1000


def _ended(stream: Stream) -> AgentMisuse:
    return AgentMisuse(
        stream.agent_id,
        "it has ended, nothing can be recorded for it any more",
        "Use an agent only inside its `with` block, and await its tasks before the block ends.",
    )
