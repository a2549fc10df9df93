"""What was stored of runs before: snapshots and the archive, in S3."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from tachograph.core.errors import EvidenceBroken
from tachograph.core.state import RunState
from tachograph.stores.archive import ArchiveLog, SnapshotPointer, SnapshotStore
from tachograph.stores.s3 import Bucket, name_part
from tachograph.stream_processors._sources import monotonic_s
from tachograph.stream_processors.fold._patience import Patience

_LOG: Final = logging.getLogger("tachograph.fold")


class _Tenant(NamedTuple):
    snapshots: SnapshotStore
    log: ArchiveLog


class StoredPast:
    """A `Past` in a bucket; faults are waited out. Snapshots may be saved by several threads.

    Args:
        bucket: where snapshots and segments are.
        directory: for what the archive's indexes say.
        patience: with S3.
        refresh_seconds: how often, at most, it is looked for new segments.
    """

    def __init__(self, bucket: Bucket, directory: Path, patience: Patience, refresh_seconds: float) -> None:
        self._bucket = bucket
        self._directory = directory
        self._patiently = patience
        self._refresh_seconds = refresh_seconds
        self._tenants: dict[str, _Tenant] = {}
        self._refreshed: dict[str, float] = {}

    def newest(self, tenant: str, run_id: str) -> RunState | None:
        """A run's newest snapshot that can be used."""
        return self._patiently(lambda: self._of(tenant).snapshots.newest(run_id))

    def history(self, tenant: str, run_id: str) -> Iterator[bytes]:
        """The payloads of a run that are archived, as far as they can be read."""
        yield from self._patiently(lambda: self._read(tenant, run_id))

    def archived(self, tenant: str, run_id: str) -> int:
        """How many those are at most."""
        self._refresh(tenant)
        return sum(part.range.events for part in self._of(tenant).log.cache.parts(run_id))

    def save(self, state: RunState) -> SnapshotPointer:
        """Store a run's state."""
        return self._of(state.tenant).snapshots.save(state)

    def _read(self, tenant: str, run_id: str) -> list[bytes]:
        self._refresh(tenant)
        log = self._of(tenant).log
        payloads: list[bytes] = []
        try:
            payloads += (stored.payload for stored in log.read(log.cache.parts(run_id)))
        except EvidenceBroken as error:
            _LOG.warning("tachograph: run %s cannot be read to its end: %s", run_id, error)
        return payloads

    def _refresh(self, tenant: str) -> None:
        now = monotonic_s()
        if now - self._refreshed.get(tenant, -self._refresh_seconds) >= self._refresh_seconds:
            try:
                self._patiently(self._of(tenant).log.refresh)
            except EvidenceBroken as error:
                _LOG.warning("tachograph: the archive of %s cannot be read whole: %s", tenant, error)
            self._refreshed[tenant] = now

    def _of(self, tenant: str) -> _Tenant:
        known = self._tenants.get(tenant)
        if known is None:
            place = self._directory / f"archive-{name_part(tenant)}.db"
            log = ArchiveLog(self._bucket, tenant, place)
            known = self._tenants[tenant] = _Tenant(SnapshotStore(self._bucket, tenant), log)
        return known
