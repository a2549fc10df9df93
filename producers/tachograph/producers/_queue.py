"""The bounded queue between callers and the writer: gives each event its place in its stream and in time.

One lock covers the sequence number, the clock's tick and the queue, so that the order of the queue is the order of the
hybrid clock, and a cause in this process always stands before its effect.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from sys import modules

from tachograph.core.causality import HybridClock
from tachograph.core.errors import AgentMisuse, SpoolUnwritable
from tachograph.producers._entry import ENTRY_BYTES, Entry, Extra, Fields, Stream
from tachograph.producers._settings import Settings
from tachograph.producers._sources import monotonic_ns
from tachograph.producers._trace import OPENTELEMETRY, traceparent

_RUNNING, _LINGERING, _IDLE, _ABSENT = 0, 1, 2, 3
"""What the writer does: works, gathers events, waits for one, is not there."""

LINGER_S = 0.004
"""How long the writer gathers events before it works on them: short beside any model call, long beside one event."""

QUIET_ROUNDS_MAX = 5
"""How often the writer looks in vain before it waits to be called: while there is work, nobody pays for calling it."""


class Queue:
    """A bounded first-in first-out queue. Callers wait when it is full; nothing is ever dropped.

    Args:
        now_ns: wall time, nanoseconds since 1970.
        settings: with the bounds.
    """

    def __init__(self, now_ns: Callable[[], int], settings: Settings) -> None:
        self.lock = threading.Lock()
        self.clock = HybridClock(lambda: now_ns() // 1000)
        self.put_total = 0
        """How many events were put: the ticket of the latest."""
        self.bytes = 0
        self.events_high = 0
        self.blocked_us = 0
        self.broken: SpoolUnwritable | None = None
        self.forked = False
        """Whether this is the queue of a process that was forked: nothing can be put any more."""
        self._now_ns = now_ns
        self._tick_at = self.clock.tick_at
        self.start_writer: Callable[[], bool] = _nobody
        """Called with the lock held when there are events and no writer; whether it could start one."""
        self._entries: deque[Entry] = deque()
        self._events_max = settings.queue_events_max
        self._bytes_max = settings.queue_bytes_max
        self._work = threading.Condition(self.lock)
        self._space = threading.Condition(self.lock)
        self._blocked = 0
        self._writer = _ABSENT
        self._quiet_rounds = 0

    def __len__(self) -> int:
        return len(self._entries)

    def put(
        self,
        stream: Stream,
        event_type: str,
        fields: Fields,
        size: int,
        extra: Extra | None = None,
        last: bool = False,
        /,
    ) -> int:
        """Append an event to its stream; returns its `seq`.

        Args:
            stream: the stream.
            event_type: the event type's name.
            fields: the event's.
            size: bytes of its bodies.
            extra: as in `Draft`.
            last: nothing comes after this event in its stream.

        Raises:
            AgentMisuse: the stream has ended, or was opened before this process was forked.
            SpoolUnwritable: the log is broken.
        """
        trace = traceparent() if OPENTELEMETRY in modules else None  # foreign code: not under the lock
        with self.lock:
            entries = self._entries
            if self.bytes >= self._bytes_max or len(entries) >= self._events_max:
                self._wait_for_space()
            if stream.ended or self.broken is not None or self.forked:
                raise self._refusal(stream)
            wall_us = self._now_ns() // 1000
            hlc = self._tick_at(wall_us)
            seq = stream.seq + 1
            if extra is not None and extra.sent is not None:
                extra.sent.seq, extra.sent.hlc = seq, hlc
            size += ENTRY_BYTES
            entry = (stream, seq, hlc, wall_us, stream.logical_time_us, event_type, fields, extra, trace, size)
            # An interrupt (Ctrl-C) can come only once a call is done: up to the append this happens as a whole.
            stream.ended = last
            self.bytes += size
            self.put_total += 1
            stream.seq = seq
            entries.append(entry)
            if self._writer > _LINGERING:
                self._rouse()
        return seq

    def take(self, count_max: int) -> list[Entry]:
        """The oldest events, in order; empty when there are none."""
        with self.lock:
            entries = self._entries
            waiting = len(entries)
            self.events_high = max(self.events_high, waiting)
            taken = [entries.popleft() for _ in range(min(count_max, waiting))]
            self.bytes -= sum([entry[-1] for entry in taken])
            if self._blocked:
                self._space.notify_all()
        return taken

    def breaks(self, error: SpoolUnwritable) -> None:
        """From now on every `put` raises the error; what was waiting is lost."""
        with self.lock:
            self.broken = error
            self._entries.clear()
            self.bytes = 0
            self._space.notify_all()

    def observe(self, hlc: int) -> bool:
        """A remote clock was seen. False: it was too far ahead, and clamped."""
        with self.lock:
            return self.clock.observe(hlc)

    def wake(self) -> bool:
        """Let the writer work at once. False: there is none, and none can be started."""
        with self.lock:
            self._rouse()
            return self._writer != _ABSENT

    def wait_for_work(self, timeout_s: float | None, urgent: Callable[[], bool]) -> None:
        """The writer's wait: until there are events, something is urgent, or the time is over."""
        with self.lock:
            if self._quiet_rounds >= QUIET_ROUNDS_MAX and not self._entries and not urgent():
                self._writer = _IDLE
                self._work.wait(timeout_s)
            if not urgent() and len(self._entries) < self._events_max // 2:
                self._writer = _LINGERING
                self._work.wait(LINGER_S)
            self._quiet_rounds = 0 if self._entries else self._quiet_rounds + 1
            self._writer = _RUNNING

    def fork(self) -> None:
        """In a forked child: refuse everything. No lock is taken: whoever held one is not here to release it."""
        self.lock = threading.Lock()
        self.forked = True

    def check(self, stream: Stream) -> None:
        """Return if events of a stream can be written, its end not counted.

        Raises:
            AgentMisuse: the stream was opened before this process was forked.
        """
        if self.forked:
            raise self._refusal(stream)

    def writer_leaves(self, needed: Callable[[], bool]) -> bool:
        """The writer ends unless it is needed; whether it does. The next event then starts another one."""
        with self.lock:
            if self._entries or needed():
                return False
            self._writer = _ABSENT
            return True

    def _rouse(self) -> None:
        if self._writer == _ABSENT:
            self._writer = _RUNNING if self.start_writer() else _ABSENT
        elif self._writer != _RUNNING:
            self._work.notify()
            self._writer = _RUNNING

    def _wait_for_space(self) -> None:
        since = monotonic_ns()
        self._blocked += 1
        try:
            while self.broken is None and (len(self._entries) >= self._events_max or self.bytes >= self._bytes_max):
                self._rouse()
                self._space.wait()
        finally:
            self._blocked -= 1
            self.events_high = max(self.events_high, len(self._entries))
            self.blocked_us += (monotonic_ns() - since) // 1000

    def _refusal(self, stream: Stream) -> AgentMisuse | SpoolUnwritable:
        if self.forked:
            return AgentMisuse(
                stream.agent_id,
                "it was opened before this process was forked",
                "In the child, join the run: recorder.join(context, agent_id, entrypoint), with a context taken before.",
            )
        if self.broken is not None:
            return self.broken
        return AgentMisuse.ended(stream.agent_id)


def _nobody() -> bool:
    return False
