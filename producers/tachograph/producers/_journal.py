"""The recording of one process life: the queue, who drains it, and the thread that does so in the background."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from tachograph.core.errors import SpoolUnwritable
from tachograph.producers._drain import Drain
from tachograph.producers._entry import Draft, Extra, Fields, Stream
from tachograph.producers._lowering import Redaction
from tachograph.producers._queue import Queue
from tachograph.producers._settings import Settings
from tachograph.producers._statistics import Statistics
from tachograph.producers._writer import Waiter, Writer
from tachograph.schemas import Cause
from tachograph.stores import Home, SpoolWriter


class Put(Protocol):
    """Appends an event to a stream."""

    def __call__(
        self,
        stream: Stream,
        event_type: str,
        fields: Fields,
        size: int,
        extra: Extra | None = None,
        last: bool = False,
        /,
    ) -> int:
        """As `Queue.put`; gives 0 where the event is dropped because the log is broken and the settings say so."""
        ...


class Journal:
    """What a recorder writes through. In a forked child it is replaced by a fresh one."""

    def __init__(
        self,
        home: Home,
        settings: Settings,
        redaction: Redaction,
        now_ns: Callable[[], int],
        follow: Callable[[Path], None] | None = None,
    ) -> None:
        self._settings = settings
        self._follow = follow
        self._queue = Queue(now_ns, settings)
        self.spools: set[str] = set()
        """Names of the spools that this recording wrote."""
        raw = home.raw if settings.raw else None
        self._drain = Drain(
            self._queue, settings.tenant, redaction, home.digester, home.objects, lambda: self._new_spool(home), raw=raw
        )
        self._writer = Writer(self._queue, self._drain, settings.fsync_interval_ms)
        self._queue.start_writer = self._writer.start
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
        if not self._is_lost(ticket, durable=durable):
            self._writer.settle(ticket, durable=durable)
        if (durable or self._settings.on_broken_log == "fail") and self._is_lost(ticket, durable=durable):
            self.check_writable()

    async def settle_async(self, ticket: int) -> bool:
        """Return when the event with this ticket is durable; whether the event loop went on meanwhile.

        Raises:
            SpoolUnwritable: it is not durable, and nothing more will be.
        """
        if self._is_lost(ticket, durable=True):
            self.check_writable()
        if self._drain.has(ticket, durable=True):
            return False
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        if self._writer.wait(Waiter(ticket, True, lambda: _wake(loop, future))):
            await future
        else:
            self._drain.settle(ticket, durable=True)
        if self._is_lost(ticket, durable=True):
            self.check_writable()
        return True

    def write_out(self) -> None:
        """Hand everything recorded so far to the operating system.

        Raises:
            SpoolUnwritable: it cannot be, and the settings say `fail`.
        """
        self.settle(self._queue.put_total, durable=False)

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

    def flush(self) -> None:
        """Make everything recorded so far durable.

        Raises:
            SpoolUnwritable: it is not.
        """
        self._writer.settle(self._queue.put_total, durable=True)
        self.check_writable()

    def close(self) -> None:
        """Make everything durable and seal the log; closing twice is as closing once.

        Raises:
            SpoolUnwritable: the log could not be written to its end.
        """
        if not self._queue.forked:
            self._writer.close()
            self.check_writable()

    def head(self, stream: Stream) -> tuple[Cause, int]:
        """A stream's latest event, as a cause and with its hybrid clock, once it is written.

        Raises:
            AgentMisuse: the stream was opened before this process was forked.
            SpoolUnwritable: it could not be written.
        """
        self._queue.check(stream)
        self._writer.settle(self._queue.put_total, durable=False)
        self.check_writable()
        with self._drain.lock:
            return stream.head(), stream.head_hlc

    def observe(self, hlc: int) -> bool:
        """A remote clock was seen. False: it was too far ahead to be adopted."""
        adopted = self._queue.observe(hlc)
        if not adopted:
            self.clamped += 1
        return adopted

    def abandon(self) -> None:
        """In a forked child: forget the parent's events and threads, refuse the parent's agents."""
        self._queue.fork()
        self._writer.forget()

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

    def _new_spool(self, home: Home) -> SpoolWriter:
        spool = home.new_spool()
        self.spools.add(spool.name)
        if self._follow is not None:
            self._follow(spool.path)
        return spool

    def _put_or_drop(
        self,
        stream: Stream,
        event_type: str,
        fields: Fields,
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

    def _is_lost(self, ticket: int, *, durable: bool) -> bool:
        """Whether an event never will be written, or durable; ticket 0 is that of an event that was not taken."""
        return self._queue.broken is not None and (ticket == 0 or not self._drain.has(ticket, durable=durable))


def _wake(loop: asyncio.AbstractEventLoop, future: asyncio.Future[None]) -> None:
    with contextlib.suppress(RuntimeError):  # the loop was closed: nobody waits any more
        loop.call_soon_threadsafe(_finish, future)


def _finish(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
