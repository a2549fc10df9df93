"""The local spools and the archive as one log."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from tachograph.core.errors import UnknownRun
from tachograph.core.ports import Stored
from tachograph.schemas import HASH
from tachograph.stores._address import address_of, tenant_in
from tachograph.stores._log import LocalLog, TornTail, nearest
from tachograph.stores._segments import Spool
from tachograph.stores.archive._log import ArchiveLog


class UnionLog:
    """What this machine has recorded and what the archive holds; an event that is in both counts once.

    Of a run that is in both, only what belongs to the archive's tenant is read.

    Safe for several threads.

    Args:
        local: the spools of this machine.
        archive: what all machines have shipped.
        firsts: the first hlc of local runs, where that is known without reading them.
    """

    def __init__(
        self, local: LocalLog, archive: ArchiveLog, firsts: Callable[[], Mapping[str, int]] | None = None
    ) -> None:
        self.local: Final = local
        self.archive: Final = archive
        self._firsts = firsts

    @property
    def path(self) -> Path:
        """The directory of the spools."""
        return self.local.path

    def spools(self) -> list[Spool]:
        """The spools of this machine, oldest first."""
        return self.local.spools()

    def torn_tails(self) -> list[TornTail]:
        """What crashes left unfinished on this machine."""
        return self.local.torn_tails()

    def run_ids(self) -> Sequence[str]:
        """The runs, oldest first.

        Raises:
            StoreUnavailable: the archive cannot be reached.
        """
        self.archive.refresh()
        first = {run_id: hlc for hlc, run_id in self.archive.cache.run_ids()}
        run_ids = self.local.run_ids()
        known: Mapping[str, int] = {} if self._firsts is None else self._firsts()
        for run_id in run_ids:
            local = known[run_id] if run_id in known else self._first(run_id)
            first[run_id] = min(local, first.get(run_id, local))
        return sorted(first, key=lambda run_id: (first[run_id], run_id))

    def read_run(self, run_id: str) -> Iterator[Stored]:
        """A run's events: ascending by hybrid logical clock, every stream's in order of `seq`.

        Raises:
            UnknownRun: there is no such run.
            CorruptFrame: the bytes are not what was written.
            StoreUnavailable: the archive cannot be reached.
        """
        self.archive.refresh()
        return self.read_known(run_id)

    def read_known(self, run_id: str) -> Iterator[Stored]:
        """The same, with what was archived as of the last refresh.

        Raises:
            UnknownRun, CorruptFrame, StoreUnavailable: as `read_run`.
        """
        parts = self.archive.cache.parts(run_id)
        try:
            near = self.local.read_run(run_id)
        except UnknownRun:
            if not parts:
                raise UnknownRun(run_id, f"{self.path} and the archive", nearest(run_id, self.run_ids())) from None
            return self.archive.read(parts)
        return _each_once(self._own(near), self.archive.read(parts)) if parts else near

    def _own(self, events: Iterable[Stored]) -> Iterator[Stored]:
        """The events of the archive's tenant: another tenant's run may have the same id on this machine."""
        tenant = self.archive.tenant
        return (stored for stored in events if tenant_in(stored.payload, address_of(stored.payload)) == tenant)

    def _first(self, run_id: str) -> int:
        return next((address_of(stored.payload).hlc for stored in self.local.read_run(run_id)), 0)


def _each_once(near: Iterable[Stored], far: Iterable[Stored]) -> Iterator[Stored]:
    """Both, by hlc. The same event has the same hash; bytes that were changed under it are not hidden by the others."""
    seen: set[tuple[bytes, int]] = set()
    for stored in heapq.merge(near, far, key=lambda stored: address_of(stored.payload).hlc):
        mark = (stored.payload[HASH], hash(stored.payload))
        if mark not in seen:
            seen.add(mark)
            yield stored
