"""The archive: from the log into segments, and what the auditor finds on the way."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from threading import Event
from typing import Final, TypeVar

from tachograph.core.findings import Finding
from tachograph.core.integrity import Verdict
from tachograph.stores.archive import SegmentRecord, StoredSegment, write_segment
from tachograph.stores.kafka import (
    CommitRefused,
    EventConsumer,
    KafkaUnavailable,
    Record,
    TopicPartition,
)
from tachograph.stores.s3 import Bucket, S3Unreachable
from tachograph.stream_processors._outlet import Outlet, integrity_finding, is_told, segment_finding
from tachograph.stream_processors._sources import monotonic_s
from tachograph.stream_processors.archive._compactor import Compactor
from tachograph.stream_processors.archive._gather import PartitionGather
from tachograph.stream_processors.archive._metrics import ArchiveMetrics
from tachograph.stream_processors.archive._screen import Poison, Screen
from tachograph.stream_processors.archive._settings import ArchiveSettings
from tachograph.stream_processors.archive._state import AuditStates

_LOG: Final = logging.getLogger("tachograph.archive")

T = TypeVar("T")

Faults = (S3Unreachable, KafkaUnavailable)
"""What passes by itself."""


_ALARMING: Final = frozenset({Verdict.BROKEN, Verdict.FORKED})


def _silent() -> None:
    """Nobody listens yet."""


class ArchiveProcessor:
    """Holds what its partitions brought, and stores it. One thread uses it.

    Offsets are committed when everything before them is stored and verified, put aside, or proved to be stored already.

    Args:
        bucket: where segments go.
        screen: looks at records.
        outlet: where findings and poison go.
        compactor: gets every run that is closed.
        settings: bounds.
        metrics: counts.
        stop: set when the process is to end; faults are then no longer waited out.
    """

    def __init__(
        self,
        bucket: Bucket,
        screen: Screen,
        outlet: Outlet,
        *,
        compactor: Compactor,
        settings: ArchiveSettings,
        metrics: ArchiveMetrics,
        stop: Event,
    ) -> None:
        self._bucket = bucket
        self._screen = screen
        self._outlet = outlet
        self._compactor = compactor
        self._settings = settings
        self._metrics = metrics
        self._stop = stop
        self._beat: Callable[[], None] = _silent
        self._states = AuditStates(bucket)
        self._held: dict[TopicPartition, PartitionGather] = {}
        self._closed: list[tuple[str, str]] = []
        self._consumer: EventConsumer | None = None

    def attach(self, consumer: EventConsumer, beat: Callable[[], None]) -> None:
        """Whose offsets are committed, and what is called whenever something was done."""
        self._consumer = consumer
        self._beat = beat

    def take(self, records: Sequence[Record]) -> None:
        """Take in a batch, and store what is due.

        Raises:
            StoreUnavailable: a fault did not pass in time, or is none that passes.
        """
        now = monotonic_s()
        verdicts: Counter[Verdict] = Counter()
        for record in records:
            place = record.place
            held = self._held.get(place)
            if held is None:
                held = self._held[place] = self._opened(place, record.offset)
            if record.offset >= held.position:
                self._take(held, record, verdicts)
                held.passed(record.offset, now)
        self._metrics.counted(verdicts)
        self._store_due(now)
        self._compact()
        self._metrics.held(sum(held.bytes for held in self._held.values()), self._open_streams())

    def drain(self) -> None:
        """Store everything: the process is about to end.

        Raises:
            StoreUnavailable: a fault did not pass in time.
        """
        for held in list(self._held.values()):
            self._store(held)

    def revoked(self, places: Iterable[TopicPartition]) -> None:
        """Partitions are about to go: store what they brought, or, where that fails, leave it to the next owner."""
        for place in places:
            held = self._held.get(place)
            try:
                if held is not None:
                    self._store_once(held)
            except (*Faults, CommitRefused) as error:
                _LOG.warning("tachograph: %s/%d goes with records that are not stored: %s", *place, error)
            finally:
                self._held.pop(place, None)

    def lost(self, places: Iterable[TopicPartition]) -> None:
        """Partitions are gone: what they brought comes again at their next owner."""
        for place in places:
            self._held.pop(place, None)

    def _opened(self, place: TopicPartition, offset: int) -> PartitionGather:
        audit = self._patiently(lambda: self._states.load(place, offset))
        return PartitionGather(place, audit, offset, offset)

    def _take(self, held: PartitionGather, record: Record, verdicts: Counter[Verdict]) -> None:
        try:
            verdict = held.take(self._screen.look(record))
            verdicts[verdict] += 1
            if verdict in _ALARMING:
                _LOG.warning("tachograph: %s: %s/%d offset %d", verdict.value, *record[:3])
        except Poison as poison:
            reason = poison.reason
            self._patiently(lambda: self._outlet.quarantine(record, reason))
            self._metrics.quarantined[poison.kind].inc()

    def _store_due(self, now: float) -> None:
        settings = self._settings
        for held in list(self._held.values()):
            is_old = held.since is not None and now - held.since >= settings.segment_seconds
            if held.bytes >= settings.segment_bytes or is_old:
                self._store(held)
        while sum(held.bytes for held in self._held.values()) > settings.held_bytes:
            self._store(max(self._held.values(), key=lambda held: held.bytes))

    def _store(self, held: PartitionGather) -> None:
        try:
            self._patiently(lambda: self._store_once(held))
        except CommitRefused as error:
            # What is stored stays stored; who has the partition now stores it once more, and readers count it once.
            _LOG.warning("tachograph: %s", error)

    def _store_once(self, held: PartitionGather) -> None:
        """Segments, findings, audit, and only then the offset; doing it again after a fault changes nothing."""
        if held.position == held.committed:
            return
        place, position = held.place, held.position
        stored = [self._write(place, tenant, records) for tenant, records in held.tenants.items()]
        held.findings += self._integrity(held)
        self._outlet.find([*map(segment_finding, stored), *held.findings])
        self._outlet.flush(self._settings.flush_seconds)
        self._metrics.stored(stored)
        held.stored()
        self._states.save(place, position, held.audit)
        assert self._consumer is not None
        self._consumer.commit({place: position})
        held.committed = position
        self._states.prune(place, position)
        self._beat()

    def _compact(self) -> None:
        """One run at a time: reading the log goes on between two of them."""
        if self._closed:
            run = self._closed.pop()
            stored = self._patiently(lambda: self._compactor.compact(*run))
            if stored is not None:
                self._metrics.compacted.inc()
            self._beat()

    def _write(self, place: TopicPartition, tenant: str, records: Sequence[SegmentRecord]) -> StoredSegment:
        stored = write_segment(self._bucket, tenant, place.topic, place.partition, records)
        self._beat()
        return stored

    def _integrity(self, held: PartitionGather) -> Iterator[Finding]:
        for key, audit in held.audit.changed():
            state = audit.state
            if is_told(state, complete=audit.complete):
                yield integrity_finding(key, state, held.position - 1)
        closed = list(held.audit.close_quiet())
        self._closed += closed
        self._metrics.closed.inc(len(closed))

    def _patiently(self, attempt: Callable[[], T]) -> T:
        """Try again while a fault may pass.

        Raises:
            StoreUnavailable: it did not pass in time, or is none that passes.
        """
        until = monotonic_s() + self._settings.fault_seconds
        pause = self._settings.pause_seconds
        while True:
            try:
                return attempt()
            except Faults as error:
                self._metrics.faults.inc()
                if monotonic_s() + pause >= until or self._stop.wait(pause):
                    raise
                _LOG.warning("tachograph: trying again: %s", error)
                pause = min(2 * pause, 8 * self._settings.pause_seconds)

    def _open_streams(self) -> int:
        return sum(len(held.audit) for held in self._held.values())
