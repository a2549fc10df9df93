"""The recording of one process life: the queue, who drains it, and the thread that does so in the background."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Protocol

from tachograph.core.errors import SpoolUnwritable
from tachograph.producers._drain import Drain
from tachograph.producers._entry import Draft, Extra, Stream
from tachograph.producers._lowering import Redaction
from tachograph.producers._queue import Queue
from tachograph.producers._settings import Settings
from tachograph.producers._sources import monotonic_ns
from tachograph.producers._statistics import Statistics
from tachograph.schemas import Cause
from tachograph.stores import Home

_Waiter = tuple[int, asyncio.AbstractEventLoop, "asyncio.Future[None]"]


class Put(Protocol):
    """Appends an event to a stream."""

    def __call__(
        self,
        stream: Stream,
        event_type: str,
        fields: dict[str, object],
        size: int,
        extra: Extra | None = None,
        last: bool = False,
        /,
    ) -> int:
        """As `Queue.put`; gives 0 where the event is dropped because the log is broken and the settings say so."""
        ...


class Journal:
    """What a recorder writes through. In a forked child it is replaced by a fresh one."""

    def __init__(self, home: Home, settings: Settings, redaction: Redaction, now_us: Callable[[], int]) -> None:
        self._settings = settings
        self._queue = Queue(now_us, settings, self._start)
        self._drain = Drain(self._queue, settings.tenant, redaction, home.digester, home.objects, home.new_spool)
        self._interval_ns = settings.fsync_interval_ms * 1_000_000
        self._waiters: list[_Waiter] = []
        self._stopping = False
        self._thread: threading.Thread | None = None
        self.put: Put = self._queue.put if settings.on_broken_log == "fail" else self._put_or_drop
        self.late = self.unrecorded = self.clamped = self.dropped = 0

    def append(self, stream: Stream, draft: Draft, *, last: bool = False) -> int:
        """Append an event to a stream; returns a ticket to wait for it with, 0 where it is dropped.

        Raises:
            AgentMisuse: the stream has ended, or was opened before this process was forked.
            SpoolUnwritable: the log is broken and the settings say `fail`.
        """
        seq = self.put(stream, draft.type, draft.fields, draft.size(), draft.extra, last)
        return self._queue.put_total if seq else 0  # or a later one: whoever waits for that has this, too

    def check_writable(self) -> None:
        """Return if the log can be written, as far as is known.

        Raises:
            SpoolUnwritable: it is broken.
        """
        if self._queue.broken is not None:
            raise self._queue.broken

    def settle(self, ticket: int, *, durable: bool) -> None:
        """Return when the event with this ticket is written or durable, with all events before it.

        Raises:
            SpoolUnwritable: it is not, and the settings say `fail`, or it had to be durable.
        """
        if durable and self._is_lost(ticket):
            self.check_writable()
        try:
            self._drain.settle(ticket, durable=durable)
        except SpoolUnwritable:
            if durable or self._settings.on_broken_log == "fail":
                raise

    def write_out(self) -> None:
        """Hand everything recorded so far to the operating system.

        Raises:
            SpoolUnwritable: it cannot be, and the settings say `fail`.
        """
        self.settle(self._queue.put_total, durable=False)

    async def settle_async(self, ticket: int) -> bool:
        """Return when the event with this ticket is durable; whether the event loop went on meanwhile.

        Raises:
            SpoolUnwritable: it is not durable, and nothing more will be.
        """
        if self._drain.durable >= ticket > 0:
            return False
        if self._is_lost(ticket):
            self.check_writable()
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        with self._queue.lock:
            self._waiters.append((ticket, loop, future))
        self._queue.wake()
        await future
        if self._is_lost(ticket):
            self.check_writable()
        return True

    def finish(self, ticket: int) -> None:
        """A run has ended: return when it is durable.

        Raises:
            SpoolUnwritable: it is not, and the settings say `fail`.
        """
        try:
            self.settle(ticket, durable=True)
        except SpoolUnwritable:
            if self._settings.on_broken_log == "fail":
                raise

    async def finish_async(self, ticket: int) -> None:
        """`finish` without blocking the event loop.

        Raises:
            SpoolUnwritable: it is not durable, and the settings say `fail`.
        """
        try:
            await self.settle_async(ticket)
        except SpoolUnwritable:
            if self._settings.on_broken_log == "fail":
                raise

    def observe(self, hlc: int) -> bool:
        """A remote clock was seen. False: it was too far ahead to be adopted."""
        adopted = self._queue.observe(hlc)
        if not adopted:
            self.clamped += 1
        return adopted

    def flush(self) -> None:
        """Make everything recorded so far durable.

        Raises:
            SpoolUnwritable: it is not.
        """
        self._drain.settle(self._queue.put_total, durable=True)
        self.check_writable()

    def close(self) -> None:
        """Make everything durable and seal the log; closing twice is as closing once.

        Raises:
            SpoolUnwritable: the log could not be written to its end.
        """
        if self._queue.forked:
            return
        thread, self._thread = self._thread, None
        if thread is not None:
            self._stopping = True
            self._queue.wake()
            thread.join()
            self._stopping = False
        with self._drain.lock:
            self._drain.drain(self._queue.put_total)
            self._drain.sync()
            self._drain.close()
        self.check_writable()

    def statistics(self) -> Statistics:
        """The counters."""
        queue, drain = self._queue, self._drain
        return Statistics(
            events=drain.events,
            bytes=drain.bytes,
            queue_events=len(queue),
            queue_bytes=queue.bytes,
            queue_events_high=queue.events_high,
            fsyncs=drain.fsyncs,
            blocked_us=queue.blocked_us,
            dropped=self.dropped + drain.lost,
            late=self.late,
            unrecorded=self.unrecorded,
            clocks_clamped=self.clamped,
            latest_error=drain.latest_error,
        )

    def abandon(self) -> None:
        """In a forked child: forget the parent's events and threads, refuse the parent's agents."""
        self._queue.fork()
        self._drain.lock = threading.Lock()
        self._thread = None

    def head(self, stream: Stream) -> tuple[Cause, int]:
        """A stream's latest event, as a cause and with its hybrid clock, once it is written.

        Raises:
            AgentMisuse: the stream was opened before this process was forked.
            SpoolUnwritable: it could not be written.
        """
        self._queue.check(stream)
        self._drain.settle(self._queue.put_total, durable=False)
        with self._drain.lock:
            return stream.head(), stream.head_hlc

    def _put_or_drop(
        self,
        stream: Stream,
        event_type: str,
        fields: dict[str, object],
        size: int,
        extra: Extra | None = None,
        last: bool = False,
        /,
    ) -> int:
        try:
            return self._queue.put(stream, event_type, fields, size, extra, last)
        except SpoolUnwritable:
            self.dropped += 1
            return 0

    def _start(self) -> bool:
        thread = threading.Thread(target=self._run, name="tachograph-writer", daemon=True)
        try:
            thread.start()
        except RuntimeError:  # the interpreter is about to end: whoever closes the journal writes what is left
            return False
        self._thread = thread
        return True

    def _run(self) -> None:
        while True:
            self._queue.wait_for_work(self._until_sync_s(), self._is_urgent)
            with self._drain.lock:
                stopping = self._stopping
                self._drain.drain(self._queue.put_total)
                if self._waiters or self._is_due():
                    self._drain.sync()
            self._resolve()
            if stopping:
                self._queue.writer_left()
                return

    def _is_lost(self, ticket: int) -> bool:
        """Whether an event is not durable and never will be; ticket 0 is that of an event that was not taken."""
        return self._queue.broken is not None and (ticket == 0 or self._drain.durable < ticket)

    def _is_urgent(self) -> bool:
        return self._stopping or bool(self._waiters)

    def _until_sync_s(self) -> float | None:
        since = self._drain.dirty_since_ns
        if since is None or self._queue.broken is not None:
            return None
        return max(0.0, (since + self._interval_ns - monotonic_ns()) / 1e9)

    def _is_due(self) -> bool:
        since = self._drain.dirty_since_ns
        return since is not None and monotonic_ns() - since >= self._interval_ns

    def _resolve(self) -> None:
        """Tell the event loops whose events are durable, or never will be."""
        if not self._waiters:
            return
        broken = self._queue.broken is not None
        with self._queue.lock:
            done = [waiter for waiter in self._waiters if broken or waiter[0] <= self._drain.durable]
            self._waiters = [waiter for waiter in self._waiters if waiter not in done]
        for _, loop, future in done:
            try:
                loop.call_soon_threadsafe(_finish, future)
            except RuntimeError:  # the loop was closed: nobody waits any more
                continue


def _finish(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
