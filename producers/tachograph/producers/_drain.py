"""Empties the queue into the log. Whoever needs an event written or durable drains; one at a time, for all."""

from __future__ import annotations

import threading
from collections.abc import Callable

from tachograph.core.canonical import Digester
from tachograph.core.errors import SpoolUnwritable, TachographError
from tachograph.core.ports import EventSink, ObjectStore
from tachograph.producers._entry import Entry
from tachograph.producers._lowering import Lowering, Redaction
from tachograph.producers._queue import Queue
from tachograph.producers._sources import monotonic_ns
from tachograph.stores import RawBodies

BATCH_EVENTS_MAX = 64
"""Events in one write: enough to make the system call cheap, few enough to let other threads run in between and to be
written while the processor's caches hold them (with 256 an event costs a tenth more)."""


class Drain:
    """The writer's side of a recording: everything here is done under one lock, by any thread.

    A thread that waits for the disk shares its sync with all that queue behind it: they find their events durable
    when they get the lock (group commit).
    """

    def __init__(
        self,
        queue: Queue,
        tenant: str,
        redaction: Redaction,
        digester: Digester,
        objects: ObjectStore,
        new_spool: Callable[[], EventSink],
        *,
        raw: RawBodies | None = None,
    ) -> None:
        self.lock = threading.Lock()
        self.written = 0
        """Ticket up to which events are with the operating system."""
        self.durable = 0
        """Ticket up to which events are on disk."""
        self.dirty_since_ns: int | None = None
        self.events = self.bytes = self.fsyncs = self.lost = 0
        self.latest_error: str | None = None
        self._queue = queue
        self._raw = raw
        self._lowering = Lowering(tenant, redaction, digester, objects.put, None if raw is None else raw.put)
        self._new_spool = new_spool
        self._spool: EventSink | None = None

    def has(self, ticket: int, *, durable: bool) -> bool:
        """Whether the event with this ticket, and all before it, are written, or durable."""
        return (self.durable if durable else self.written) >= ticket

    def settle(self, ticket: int, *, durable: bool) -> None:
        """Return when the event with this ticket, and all before it, are written, or durable, or never will be."""
        with self.lock:
            self.drain(ticket)
            if durable and self.durable < ticket:
                self.sync()

    def drain(self, ticket: int) -> None:
        """Write until this ticket is written (the lock is held). A failure breaks the queue; it is not raised."""
        while self.written < ticket and self._queue.broken is None:
            entries = self._queue.take(BATCH_EVENTS_MAX)
            if not entries:
                return
            try:
                self._write(entries)
            except (TachographError, OSError) as error:
                self._break(error)
            except Exception as error:  # noqa: BLE001 a bug of ours must refuse effects, not kill the writer
                self._break(error)

    def sync(self) -> None:
        """Make durable what is written (the lock is held). A failure breaks the queue; it is not raised."""
        if self._spool is None or self._queue.broken is not None:
            return
        try:
            self._spool.sync()
        except (TachographError, OSError) as error:
            self._break(error)
            return
        self.fsyncs += 1
        self.durable = self.written
        self.dirty_since_ns = None

    def close(self, ticket: int) -> None:
        """Write what is left and seal the log (the lock is held). A failure breaks the queue; it is not raised."""
        self.drain(ticket)
        self.sync()
        spool, self._spool = self._spool, None
        try:
            if spool is not None:
                spool.close()
        except (TachographError, OSError) as error:
            self._break(error)

    def _write(self, entries: list[Entry]) -> None:
        spool = self._spool
        if spool is None:  # before the bodies are put: the spool notes their keys
            spool = self._spool = self._new_spool()
        payload = self._lowering.payload
        payloads = [payload(entry) for entry in entries]
        if self._raw is not None:
            self._raw.write_out()  # bodies before events
        if self.dirty_since_ns is None:
            self.dirty_since_ns = monotonic_ns()
        try:
            spool.append(payloads)
        except SpoolUnwritable:
            self._write_one_by_one(spool, payloads)
        else:
            self._wrote(payloads)
        for entry in entries:
            extra = entry[7]
            if extra is not None and extra.written is not None:
                extra.written()

    def _write_one_by_one(self, spool: EventSink, payloads: list[bytes]) -> None:
        """A batch did not fit on the disk: keep what does."""
        for payload in payloads:
            spool.append([payload])
            self._wrote([payload])

    def _wrote(self, payloads: list[bytes]) -> None:
        self.written += len(payloads)
        self.events += len(payloads)
        self.bytes += sum(map(len, payloads))

    def _break(self, error: Exception) -> None:
        broken = error if isinstance(error, SpoolUnwritable) else SpoolUnwritable("the event log", _reason(error))
        broken.__cause__ = None if broken is error else error
        self.latest_error = str(broken)
        self._queue.breaks(broken)
        self.lost = self._queue.put_total - self.written


def _reason(error: Exception) -> str:
    """A reason that holds no payload: only our own errors and the operating system's are known to be free of it."""
    if isinstance(error, TachographError | OSError):
        return str(error)
    return f"the writer failed with {type(error).__name__}"
