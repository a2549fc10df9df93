"""The fold's work around the steps: records in, checkpoints carried out."""

from __future__ import annotations

import logging
from binascii import hexlify
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Final

from tachograph.schemas import DEFAULT_LIMITS, HASH
from tachograph.stores.kafka import CommitRefused, EventConsumer, Record, TopicPartition
from tachograph.stores.registry import UnknownSchemaId
from tachograph.stream_processors._headers import HASH_HEADER, TENANT_HEADER
from tachograph.stream_processors._sources import monotonic_s
from tachograph.stream_processors.fold._books import Books
from tachograph.stream_processors.fold._metrics import FoldMetrics
from tachograph.stream_processors.fold._outlet import FoldOutlet
from tachograph.stream_processors.fold._past import StoredPast
from tachograph.stream_processors.fold._patience import FAULTS, Patience
from tachograph.stream_processors.fold._settings import FoldSettings
from tachograph.stream_processors.fold._step import FoldStep
from tachograph.stream_processors.fold._values import Checkpoint, FoldStatistics

_LOG: Final = logging.getLogger("tachograph.fold")

_BYTES_MAX: Final = DEFAULT_LIMITS.payload_bytes_max


@dataclass(slots=True)
class _Part:
    """A partition that is this processor's."""

    step: FoldStep
    committed: int
    """Offset of its last commit, or of its first record."""
    checked_s: float
    moved_s: float
    since: int = 0
    """Records since the last checkpoint."""
    rested: bool = True
    """Whether it was stored as a partition without records."""
    bad: dict[int, Record] = field(default_factory=dict[int, Record])
    """Records that are no events, by offset."""
    counted: FoldStatistics | None = None


class FoldProcessor:
    """Folds what its partitions bring. One thread uses it.

    Args:
        past: snapshots and archive.
        books: of the partitions.
        outlet: where findings, pointers and poison go.
        from_wire: exchanges the registry's schema id for ours.
        settings: bounds.
        metrics: counts.
        patience: with S3 and Kafka.
    """

    def __init__(
        self,
        past: StoredPast,
        books: Books,
        outlet: FoldOutlet,
        from_wire: Callable[[bytes], bytes],
        *,
        settings: FoldSettings,
        metrics: FoldMetrics,
        patience: Patience,
    ) -> None:
        self._past = past
        self._books = books
        self._outlet = outlet
        self._from_wire = from_wire
        self._settings = settings
        self._metrics = metrics
        self._patiently = patience
        self._beat: Callable[[], None] = _silent
        self._parts: dict[TopicPartition, _Part] = {}
        self._consumer: EventConsumer | None = None
        self._savers = ThreadPoolExecutor(settings.savers, "fold-saver")

    def attach(self, consumer: EventConsumer, beat: Callable[[], None]) -> None:
        """Whose offsets are committed, and what is called whenever something was done."""
        self._consumer = consumer
        self._beat = beat

    def take(self, records: Sequence[Record]) -> None:
        """Fold a batch, and carry out the checkpoints that are due.

        Raises:
            StoreUnavailable: a fault did not pass in time, or is none that passes.
        """
        now = monotonic_s()
        at: tuple[str, int] | None = None
        part: _Part | None = None
        for record in records:
            topic, partition, offset, _, key, value, headers = record
            if part is None or at != (topic, partition):
                at = (topic, partition)
                part = self._part(record, now)
            if not self._folded(part.step, offset, key, value, headers):
                part.bad[offset] = record
            part.since += 1
        for place, part in list(self._parts.items()):
            self._look_after(place, part, now)
        self._metrics.holds(part.step.statistics() for part in self._parts.values())

    def drain(self) -> None:
        """Store everything: the process is about to end.

        Raises:
            StoreUnavailable: a fault did not pass in time.
        """
        for place, part in list(self._parts.items()):
            self._check(place, part, drain=True)
        self._parts.clear()

    def revoked(self, places: Iterable[TopicPartition]) -> None:
        """Partitions are about to go: store what they brought, or, where that fails, leave it to the next owner."""
        for place in places:
            part = self._parts.pop(place, None)
            try:
                if part is not None:
                    self._carry_out(place, part, part.step.checkpoint(drain=True))
            except (*FAULTS, CommitRefused) as error:
                _LOG.warning("tachograph: %s/%d goes with records that are folded again: %s", *place, error)

    def lost(self, places: Iterable[TopicPartition]) -> None:
        """Partitions are gone: what they brought is folded again by their next owner."""
        for place in places:
            self._parts.pop(place, None)

    def close(self) -> None:
        """End the threads that store snapshots."""
        self._savers.shutdown()

    def _part(self, record: Record, now: float) -> _Part:
        place = record.place
        part = self._parts.get(place)
        if part is None:
            book = self._patiently(lambda: self._books.load(place, record.offset))
            step = FoldStep(self._past, self._settings.limits, book)
            part = self._parts[place] = _Part(step, record.offset, now, now)
        part.moved_s = now
        part.rested = False
        return part

    def _folded(
        self, step: FoldStep, offset: int, key: bytes | None, value: bytes | None, headers: Sequence[tuple[str, bytes]]
    ) -> bool:
        """Whether a record is an event. What the archive sets aside is set aside here, too, or the two would differ."""
        if not value or len(value) > _BYTES_MAX:
            step.refuse(offset, f"it has {len(value)} bytes, 1 to {_BYTES_MAX} can be" if value else "it has no value")
            return False
        try:
            payload = self._from_wire(value)
        except UnknownSchemaId as error:
            step.refuse(offset, str(error))
            return False
        tenant: bytes | None = None
        for name, told in headers:
            if name == TENANT_HEADER:
                tenant = told
            elif name == HASH_HEADER and told != hexlify(payload[HASH]):
                step.refuse(offset, f"the record says hash {told!r}, its event {payload[HASH].hex()!r}")
                return False
        return step.add(offset, key, payload, tenant)

    def _look_after(self, place: TopicPartition, part: _Part, now: float) -> None:
        settings = self._settings
        if part.since and (
            now - part.checked_s >= settings.checkpoint_seconds
            or part.since >= settings.checkpoint_records
            or part.step.wants_checkpoint
        ):
            self._check(place, part)
        elif not part.rested and now - part.moved_s >= settings.idle_seconds:
            self._check(place, part, idle=True)
            part.rested = part.step.statistics().pending == 0
            part.moved_s = now

    def _check(self, place: TopicPartition, part: _Part, *, idle: bool = False, drain: bool = False) -> None:
        checkpoint = part.step.checkpoint(idle=idle, drain=drain)
        try:
            self._patiently(lambda: self._carry_out(place, part, checkpoint))
        except CommitRefused as error:
            # What is stored stays stored; who has the partition now comes to the same.
            _LOG.warning("tachograph: %s", error)
        part.since, part.checked_s = 0, monotonic_s()

    def _carry_out(self, place: TopicPartition, part: _Part, checkpoint: Checkpoint) -> None:
        """In this order, and again from the start after a fault: it changes nothing."""
        for poison in checkpoint.poison:
            self._outlet.quarantine(part.bad[poison.offset], poison.reason)
        self._outlet.find(checkpoint.findings)
        self._outlet.flush(self._settings.flush_seconds)
        self._save(checkpoint)
        if checkpoint.offset > part.committed:
            self._books.save(place, checkpoint.offset, checkpoint.book)
            assert self._consumer is not None
            self._consumer.commit({place: checkpoint.offset})
            part.committed = checkpoint.offset
            self._books.prune(place, checkpoint.offset)
        part.bad.clear()
        after = part.step.statistics()
        self._metrics.counted(part.counted, after)
        part.counted = after
        self._beat()

    def _save(self, checkpoint: Checkpoint) -> None:
        """Snapshots, some at a time, and where they are."""
        for pointer in self._savers.map(self._past.save, checkpoint.snapshots):
            self._outlet.point(pointer)
            self._beat()
        if checkpoint.snapshots:
            self._outlet.flush(self._settings.flush_seconds)


def _silent() -> None:
    """Nobody listens yet."""
