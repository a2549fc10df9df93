"""What a recorder holds: carries the spools of its process to the cluster while they grow."""

from __future__ import annotations

import logging
import threading
from pathlib import Path
from typing import Final, Self

from tachograph.core.errors import StoreUnavailable
from tachograph.core.ports import Shipped
from tachograph.producers.shipper._counters import Counters
from tachograph.producers.shipper._means import topic_of
from tachograph.producers.shipper._run import Run
from tachograph.producers.shipper._values import ShipperStatistics
from tachograph.stores.backend import Backend
from tachograph.stores.shipping import SpoolFollower, mark_of

_LOG: Final = logging.getLogger("tachograph.shipper")

EXIT_SECONDS: Final = 5.0
"""How long a process's end waits for what is not shipped yet; the rest is left to `tacho ship`."""

_JOIN_SECONDS: Final = 1.5
"""How long the thread may take to notice that it is to end."""


class Shipper:
    """Ships the spools of this process. Safe for several threads; a forked child makes its own.

    It never drops an event and never gives up: while servers do not answer, events lie in the spool, and
    `statistics` says how much waits and why.

    Args:
        home: the directory of the home.
        backend: the servers.
        exit_seconds: how long `close` waits for what is not shipped yet.

    Raises:
        InvalidSetting: no Kafka is set.
    """

    def __init__(self, home: Path, backend: Backend, *, exit_seconds: float = EXIT_SECONDS) -> None:
        self._home = home
        self._backend = backend
        self._topic = topic_of(backend)
        self._exit_seconds = exit_seconds
        self._lock = threading.Lock()
        self._counters = Counters()
        self._run: Run | None = None
        self._spools: list[Path] = []
        self._told = 0  # bytes

    def follow(self, spool: Path) -> None:
        """Ship a spool of this process from now on; starts the thread where there is none."""
        with self._lock:
            self._spools.append(spool)
            if self._run is None:
                run = Run(self._home, self._backend, self._counters)
                if not run.start():
                    return
                self._run = run
            self._run.follow(spool)

    def drain(self, seconds: float) -> Shipped:
        """Wait until everything that is there now is shipped, at most so long."""
        run = self._run
        if run is not None:
            run.drain(seconds)
        return self._shipped(run)

    def statistics(self) -> ShipperStatistics:
        """What was done so far."""
        done = self._counters
        return ShipperStatistics(
            events=done.events,
            bytes=done.bytes,
            bodies=done.bodies,
            resent=done.resent,
            stuck=sum(done.stuck.values()),
            stuck_by_reason=dict(done.stuck),
            waiting_bytes=self._waiting_bytes(),
            spools=len(self._waiting()),
            failures=done.failures,
            latest_error=done.latest_error,
        )

    def close(self) -> Shipped:
        """Ship what is left, as long as `exit_seconds` allow, and end the thread; `follow` starts another one.

        Who is still making its first connection gets as long for that, and again for its events.
        """
        shipped = self.drain(self._exit_seconds)
        connecting = self._run
        if not shipped.is_complete and connecting is not None and connecting.connects(self._exit_seconds):
            shipped = self.drain(self._exit_seconds)
        with self._lock:
            run, self._run = self._run, None
        if run is not None:
            run.stop(_JOIN_SECONDS)
        if not shipped.is_complete and shipped.waiting_bytes != self._told:
            self._told = shipped.waiting_bytes  # a recorder is closed by its user, and again as the process ends
            _LOG.warning(
                "tachograph: %d bytes of spools are not shipped (%s); `tacho ship %s` ships them",
                *(shipped.waiting_bytes, shipped.reason or "there was no time left", self._home),
            )
        return shipped

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _shipped(self, run: Run | None) -> Shipped:
        done, waiting = self._counters, self._waiting_bytes()
        reason = None if run is None or not waiting else run.reason
        stuck = sum(done.stuck.values())
        return Shipped(done.events, done.bodies, stuck, waiting, len(self._spools), reason)

    def _waiting(self) -> list[Path]:
        """Spools that are not wholly shipped."""
        with self._lock:
            self._spools = [spool for spool in self._spools if not mark_of(spool, self._topic).is_done]
            return list(self._spools)

    def _waiting_bytes(self) -> int:
        try:
            return sum(SpoolFollower(spool).backlog(mark_of(spool, self._topic).position) for spool in self._waiting())
        except StoreUnavailable:
            return 0
