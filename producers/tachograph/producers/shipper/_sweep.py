"""Removes spools that were shipped long enough ago, once every event of them is found in the archive.

What the brokers acknowledged they keep for some days only; so a spool stays until the archive has it, byte for byte.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from tachograph.core.errors import EvidenceBroken, TachographError
from tachograph.producers.shipper._means import topic_of
from tachograph.producers.shipper._sources import monotonic_s, now_ms
from tachograph.schemas import EventMeta, decode_meta, schema_tag
from tachograph.stores import Home, Spool, SpoolState
from tachograph.stores.archive import ArchiveLog
from tachograph.stores.backend import Backend
from tachograph.stores.shipping import (
    BEGINNING,
    Batch,
    Shipment,
    SpoolFollower,
    age_ms,
    are_bodies_carried,
    clear,
    is_retired,
    retire,
    stuck_of,
)

BATCH_BYTES_MAX: Final = 16 * 1024 * 1024
"""Of a spool, compared with the archive at once."""

SWEEP_SECONDS: Final = 600.0
"""Between two passes of a living process over its home."""

_LOG: Final = logging.getLogger("tachograph.shipper")

_HOUR_MS: Final = 3_600_000

StreamKey = tuple[str, str, int]


class Swept(NamedTuple):
    """How far a pass over a home came."""

    removed: int
    """Spools, so far."""
    name: str
    """The spool that is looked at."""


class Sweeper:
    """Passes over a home, one now and then, made step by step by a thread that has other things to do.

    Args:
        directory: of the home.
        backend: the servers.
    """

    def __init__(self, directory: Path, backend: Backend) -> None:
        self._directory = directory
        self._backend = backend
        self._pass: Generator[Swept] | None = None
        self._next_s = 0.0

    def step(self) -> bool:
        """Go on with a pass, or begin the next one if it is time; whether there is more to do at once."""
        if self._pass is None:
            if self._backend.spool_keep_hours is None or monotonic_s() < self._next_s:
                return False
            self._pass = sweep(self._directory, self._backend)
        try:
            if next(self._pass, None) is not None:
                return True
        except TachographError as error:
            _LOG.warning("tachograph: spools that were shipped are not removed yet: %s", error)
        except Exception:  # noqa: BLE001 a bug of ours must not end shipping
            _LOG.exception("tachograph: removing spools that were shipped failed; it is tried again")
        self._pass, self._next_s = None, monotonic_s() + SWEEP_SECONDS
        return False

    def close(self) -> None:
        """Let go of a pass that is not over."""
        if self._pass is not None:
            self._pass.close()
            self._pass = None


def sweep(directory: Path, backend: Backend) -> Generator[Swept]:
    """Remove the spools of a home that may go; one that does not fit is left for another time.

    A step compares a part of one spool with the archive, so that whoever makes them can do other things in between, or
    stop. Nothing is removed where no time is set.

    Raises:
        StoreUnavailable: S3 does not answer, or the disk refuses.
        CallerError: there is no such home, or no Kafka is set.
    """
    if backend.spool_keep_hours is None:
        return
    home = Home.open(directory, backend=backend)
    try:
        yield from _sweep(home, topic_of(backend), round(backend.spool_keep_hours * _HOUR_MS))
    finally:
        home.catalogue.close()
        if home.archive is not None:
            home.archive.cache.database.close()


def _sweep(home: Home, topic: str, keep_ms: int) -> Iterator[Swept]:
    clear(home.path / "log")
    removed = 0
    for spool in home.log.spools():
        if home.archive is None or not _is_due(spool, topic, keep_ms):
            continue
        shipment = Shipment(spool.path, topic)
        if not shipment.open():
            continue
        try:
            for gone in _removed(home, home.archive, spool):
                removed += gone
                yield Swept(removed, spool.name)
        finally:
            shipment.close()


def _is_due(spool: Spool, topic: str, keep_ms: int) -> bool:
    """Whether a spool was acknowledged with all its bodies, nothing of it is stuck, and it lay long enough since."""
    if spool.state is SpoolState.OPEN or stuck_of(spool.path) or not are_bodies_carried(spool.path, topic):
        return False
    age = age_ms(spool.path, topic, now_ms())
    return age is not None and age >= keep_ms


def _removed(home: Home, archive: ArchiveLog, spool: Spool) -> Iterator[bool]:
    """Whether the spool is gone, after each step."""
    found = _Found()
    if not is_retired(spool.path.parent, spool.name):
        archive.refresh()
        for batch in _batches(spool.path):
            if batch is None or not (yield from _is_archived(archive, batch, found)):
                return
        if not all(map(archive.cache.is_over, found.unfinished)):
            return  # elsewhere such a run is not known to have died yet
    retire(home.own_catalogue, spool.path, found.streams, found.events)
    yield True


@dataclass(slots=True)
class _Found:
    """What a spool holds, as far as it was read."""

    streams: dict[StreamKey, int] = field(default_factory=dict[StreamKey, int])
    """The last number of each."""
    unfinished: set[str] = field(default_factory=set[str])
    """Runs that began in it and did not end in it."""
    events: int = 0

    def add(self, payload: bytes, meta: EventMeta) -> None:
        key = (meta.run_id, meta.agent_id, meta.incarnation)
        self.streams[key] = max(meta.seq, self.streams.get(key, 0))
        self.events += 1
        if schema_tag(payload).startswith("RunStarted/"):
            self.unfinished.add(meta.run_id)
        elif schema_tag(payload).startswith("RunFinished/"):
            self.unfinished.discard(meta.run_id)


def _batches(spool: Path) -> Iterator[Batch | None]:
    """The spool from its beginning to its end; None where something of it cannot be read."""
    follower, position = SpoolFollower(spool), BEGINNING
    while True:
        batch = follower.read(position, BATCH_BYTES_MAX)
        if batch.unreadable or (batch.is_last and not batch.is_over):
            yield None
            return
        yield batch
        if batch.is_last:
            return
        position = batch.end


def _is_archived(archive: ArchiveLog, batch: Batch, found: _Found) -> Generator[bool, None, bool]:
    """Whether the archive has every event of a batch; a step for each run of it."""
    by_run: dict[str, _Expected] = {}
    for payload in batch.payloads:
        try:
            meta = decode_meta(payload)
            found.add(payload, meta)
        except EvidenceBroken:
            return False
        if meta.tenant != archive.tenant:
            return False  # from here, nobody would see it any more
        by_run.setdefault(meta.run_id, _Expected()).add(payload, meta.hlc)
    for run_id, expected in by_run.items():
        if not expected.is_in(archive, run_id):
            return False
        yield False
    return True


class _Expected:
    """Events of a run that the archive is to have."""

    def __init__(self) -> None:
        self._digests: set[bytes] = set()
        self._hlcs: list[int] = []

    def add(self, payload: bytes, hlc: int) -> None:
        self._digests.add(hashlib.sha256(payload).digest())
        self._hlcs.append(hlc)

    def is_in(self, archive: ArchiveLog, run_id: str) -> bool:
        """Whether all are there, byte for byte; only the parts of their time are read."""
        first, last = min(self._hlcs), max(self._hlcs)
        parts = [part for part in archive.cache.parts(run_id) if part.last_hlc >= first and part.first_hlc <= last]
        try:
            for stored in archive.read(parts):
                self._digests.discard(hashlib.sha256(stored.payload).digest())
        except EvidenceBroken:
            return False
        return not self._digests
