"""Ships the spools that dead processes left behind."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tachograph.core.ports import Progress, Shipped
from tachograph.producers.shipper._counters import Counters
from tachograph.producers.shipper._means import connect, disconnect, topic_of
from tachograph.producers.shipper._sources import monotonic_s
from tachograph.producers.shipper._sweep import sweep
from tachograph.producers.shipper._transfer import ALONE_WINDOW_BYTES_MAX, GivenUp, Means, Transfer
from tachograph.stores import Home, LocalLog, Spool, SpoolState
from tachograph.stores.backend import Backend, backend_of
from tachograph.stores.kafka import Failed
from tachograph.stores.shipping import SpoolFollower, mark_of, stuck_of


def ship(directory: Path, backend: Backend, progress: Progress, seconds_max: float | None = None) -> Shipped:
    """Ship what dead processes left in a home, then remove the spools that may go (TACHO_SPOOL_KEEP_HOURS).

    A living process ships its own spools, so those are left alone, as are those that somebody else ships right now.

    Args:
        directory: of the home.
        backend: the servers.
        progress: hears of bytes shipped, bytes in all, and the spool.
        seconds_max: give up after this long; None: wait for the servers however long it takes.

    Raises:
        CallerError: there is no such home, no Kafka is set, or a setting cannot be.
        StoreUnavailable: a server does not answer or refuses, and `seconds_max` is over or it would not help to wait.
    """
    shipped = _Orphans(Home.open(directory).path, backend, progress, seconds_max).ship()
    removed = 0
    for swept in sweep(directory, backend):
        removed = swept.removed
        progress(removed, 0, f"is {swept.name} in the archive?")
    return replace(shipped, removed=removed)


def ship_service(home: Path, seconds_max: float | None, progress: Progress) -> Shipped:
    """`ship`, to the servers that the environment names (the `ship` service)."""
    return ship(home, backend_of(), progress, seconds_max)


class _Orphans:
    """One pass over a home's spools."""

    def __init__(self, home: Path, backend: Backend, progress: Progress, seconds_max: float | None) -> None:
        self._home = home
        self._backend = backend
        self._topic = topic_of(backend)
        self._progress = progress
        self._deadline_s = None if seconds_max is None else monotonic_s() + seconds_max
        self._counters = Counters()
        self._current: Transfer | None = None
        self._spools: list[Spool] = []
        self._all_bytes = 0

    def ship(self) -> Shipped:
        spools = self._spools = [spool for spool in LocalLog(self._home / "log").spools() if self._is_left(spool)]
        if not spools:
            return Shipped(0, 0, 0, 0, 0, None)
        self._all_bytes = sum(map(self._backlog, spools))
        connected = connect(self._home, self._backend, self._counters, self._refused, self._is_over)
        means = replace(connected, window_bytes=ALONE_WINDOW_BYTES_MAX)
        reason = None
        try:
            for spool in spools:
                self._ship(spool, means)
        except GivenUp:
            reason = means.producer.statistics().latest_error or "the time given was over"
        finally:
            disconnect(means)
        left = sum(map(self._backlog, spools))
        counters = self._counters
        return Shipped(counters.events, counters.bodies, sum(counters.stuck.values()), left, len(spools), reason)

    def _ship(self, spool: Spool, means: Means) -> None:
        transfer = self._current = Transfer(spool.path, means, self._counters)
        if not transfer.open():
            return
        try:
            while transfer.step():
                left = sum(map(self._backlog, self._spools))
                self._progress(self._all_bytes - left, self._all_bytes, spool.name)
                if self._is_over():
                    raise GivenUp
        finally:
            transfer.close()

    def _is_left(self, spool: Spool) -> bool:
        if spool.state is SpoolState.OPEN:
            return False
        is_stuck = any(each.can_be_tried for each in stuck_of(spool.path))
        return is_stuck or not mark_of(spool.path, self._topic).is_done

    def _backlog(self, spool: Spool) -> int:
        mark = mark_of(spool.path, self._topic)
        is_gone = mark.is_done or not spool.path.is_dir()  # somebody else shipped and removed it
        return 0 if is_gone else SpoolFollower(spool.path).backlog(mark.position)

    def _refused(self, failed: Failed) -> None:
        assert self._current is not None
        self._current.refused(failed)

    def _is_over(self) -> bool:
        return self._deadline_s is not None and monotonic_s() >= self._deadline_s
