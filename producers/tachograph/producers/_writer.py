"""The writer's thread: empties the queue in the background, syncs when it is time, and wakes who waits for that.

Signals interrupt the main thread, and a write must not be torn apart: whatever the main thread needs written or durable
this thread does for it. Other threads drain themselves, which spares them two changes of threads.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

from tachograph.producers._drain import Drain
from tachograph.producers._queue import Queue
from tachograph.producers._sources import monotonic_ns


@dataclass(frozen=True, slots=True, eq=False)
class Waiter:
    """Somebody who waits for an event."""

    ticket: int
    durable: bool
    """Waits for the disk, else for the operating system."""
    wake: Callable[[], object]
    """Called by the writer's thread when the event is there, or never will be."""


class Writer:
    """Starts its thread when there is something to do, ends it when it is closed, starts it again when there is more."""

    def __init__(self, queue: Queue, drain: Drain, fsync_interval_ms: int) -> None:
        self._queue = queue
        self._drain = drain
        self._interval_ns = fsync_interval_ms * 1_000_000
        self._waiters: list[Waiter] = []
        self._stopping = False
        self._thread: threading.Thread | None = None

    def settle(self, ticket: int, *, durable: bool) -> None:
        """Return when the event is written or durable, or never will be."""
        if self._drain.has(ticket, durable=durable):
            return
        if threading.current_thread() is threading.main_thread():
            done = threading.Lock()
            done.acquire()
            if self.wait(Waiter(ticket, durable, done.release)):
                done.acquire()
                return
        self._drain.settle(ticket, durable=durable)

    def wait(self, waiter: Waiter) -> bool:
        """Have the thread wake somebody. False: there is none, and none can be started."""
        with self._queue.lock:
            self._waiters.append(waiter)
        if self._queue.wake():
            return True
        with self._queue.lock:
            self._waiters.remove(waiter)
        return False

    def start(self) -> bool:
        """Start the thread (the queue's lock is held). False: it cannot be started."""
        thread = threading.Thread(target=self._run, name="tachograph-writer", daemon=True)
        try:
            thread.start()
        except RuntimeError:  # the interpreter is about to end: whoever closes writes what is left
            return False
        self._thread = thread
        return True

    def close(self) -> None:
        """Write what is left, seal the log and end the thread."""
        thread, self._thread = self._thread, None
        if thread is not None:
            self._stopping = True
            self._queue.wake()
            thread.join()
            self._stopping = False
        with self._drain.lock:  # nothing is left to do here but what came after the thread's end
            self._drain.close(self._queue.put_total)

    def forget(self) -> None:
        """In a forked child: there is no thread, and whoever held the lock is not here to release it."""
        self._drain.lock = threading.Lock()
        self._waiters = []
        self._thread = None

    def _run(self) -> None:
        while True:
            self._queue.wait_for_work(self._until_sync_s(), self._is_urgent)
            stopping = self._stopping
            with self._drain.lock:
                self._drain.drain(self._queue.put_total)
                if self._is_due() or any(waiter.durable for waiter in self._waiters):
                    self._drain.sync()
                if stopping:
                    self._drain.close(self._queue.put_total)
            self._wake_waiters()
            if stopping and self._queue.writer_leaves(lambda: bool(self._waiters)):
                return

    def _wake_waiters(self) -> None:
        if not self._waiters:
            return
        broken = self._queue.broken is not None
        with self._queue.lock:
            done = [each for each in self._waiters if broken or self._drain.has(each.ticket, durable=each.durable)]
            self._waiters = [each for each in self._waiters if each not in done]
        for waiter in done:
            waiter.wake()

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
