"""Running the fold."""

from __future__ import annotations

import logging
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Event
from typing import Final

from tachograph.core.errors import InvalidSetting, StoreUnavailable
from tachograph.stores.backend import Backend, KafkaSettings, S3Settings
from tachograph.stores.kafka import EventConsumer, Skipped, topic_name
from tachograph.stores.registry import SchemaRegistry
from tachograph.stores.s3 import Bucket
from tachograph.stream_processors.archive import StatusAddress
from tachograph.stream_processors.archive._health import StatusServer, Watchdog
from tachograph.stream_processors.fold._books import Books
from tachograph.stream_processors.fold._metrics import FoldMetrics
from tachograph.stream_processors.fold._outlet import FoldOutlet
from tachograph.stream_processors.fold._past import StoredPast
from tachograph.stream_processors.fold._patience import Patience, monotonic_s
from tachograph.stream_processors.fold._processor import FoldProcessor
from tachograph.stream_processors.fold._settings import FoldSettings

_LOG: Final = logging.getLogger("tachograph.fold")

_LAG_SECONDS: Final = 10.0
"""How often the broker is asked how far it is ahead: a fetch that is stuck hears of nothing."""


def run_fold(
    directory: Path,
    backend: Backend,
    stop: Event,
    settings: FoldSettings | None = None,
    status: StatusAddress | None = None,
) -> None:
    """Fold the log until `stop` is set; then store what is held, commit, and return.

    Several processes may do this at once: they share the partitions.

    Args:
        directory: for the registry's ids and the archive's indexes; it may be empty, and is made.
        backend: Kafka and S3 must be set.
        stop: set it, as by SIGTERM, and the fold ends in good order.
        settings: bounds; None: as `FoldSettings` has them.
        status: where to answer `/healthz` and `/metrics`; None: nowhere.

    Raises:
        InvalidSetting: Kafka or S3 is not set.
        StoreUnavailable: a fault of S3 or Kafka did not pass in time, or is none that passes; what was not committed is
            read again after the next start.
    """
    kafka, s3 = _servers(backend)
    settings = settings or FoldSettings()
    directory.mkdir(parents=True, exist_ok=True)
    metrics = FoldMetrics()
    with ExitStack() as opened:
        topic = topic_name(kafka, "events")
        registry = opened.enter_context(SchemaRegistry(backend.registry, directory / "registry.json", topic=topic))
        outlet = FoldOutlet(kafka)
        opened.callback(outlet.close)
        watchdog = Watchdog(settings.stall_seconds, lambda seconds: loop.stuck(seconds))  # noqa: PLW0108  # it is made below
        patience = Patience(settings.fault_seconds, settings.pause_seconds, stop, metrics.faults.inc)
        bucket = Bucket(s3, connections=settings.savers)
        processor = FoldProcessor(
            StoredPast(bucket, directory, patience, settings.refresh_seconds),
            Books(bucket),
            outlet,
            registry.from_wire,
            settings=settings,
            metrics=metrics,
            patience=patience,
            beat=watchdog.beat,
        )
        loop = _Loop(processor, watchdog, settings, metrics, stop)
        opened.callback(processor.close)
        consumer = opened.enter_context(loop.consumer(kafka, topic))
        if status is not None:
            server = StatusServer(status.host, status.port, watchdog.fault, metrics.registry)
            server.start()
            opened.callback(server.stop)
        with loop.watched():
            loop.run(consumer)


class _Loop:
    """Reads and folds; and says that it does."""

    def __init__(
        self, processor: FoldProcessor, watchdog: Watchdog, settings: FoldSettings, metrics: FoldMetrics, stop: Event
    ) -> None:
        self._processor = processor
        self._watchdog = watchdog
        self._settings = settings
        self._metrics = metrics
        self._stop = stop
        self._consumer: EventConsumer | None = None
        self._asked_s = 0.0

    def consumer(self, kafka: KafkaSettings, topic: str) -> EventConsumer:
        """A member of the group, whose partitions the processor hears of."""
        self._consumer = EventConsumer(
            kafka,
            self._settings.group,
            [topic],
            on_revoked=self._processor.revoked,
            on_lost=self._processor.lost,
            on_skipped=_skipped,
        )
        self._processor.attach(self._consumer)
        return self._consumer

    @contextmanager
    def watched(self) -> Generator[None]:
        """Ends the process where it makes no progress."""
        self._watchdog.start()
        try:
            yield
        finally:
            self._watchdog.stop()

    def run(self, consumer: EventConsumer) -> None:
        """Until it is to stop, then once more what is held."""
        while not self._stop.is_set():
            self._processor.take(consumer.poll(self._settings.batch_records, self._settings.poll_seconds))
            self._watchdog.beat()
            self._ask_lag(consumer)
        self._processor.drain()

    def _ask_lag(self, consumer: EventConsumer) -> None:
        now = monotonic_s()
        if now - self._asked_s < _LAG_SECONDS:
            return
        self._asked_s = now
        try:
            self._metrics.lag.set(sum(consumer.lag().values()))
        except StoreUnavailable as error:
            _LOG.warning("tachograph: the broker does not say how far it is ahead: %s", error)

    def stuck(self, seconds: float) -> list[str]:
        """Partitions that hold records and have not moved for so many seconds."""
        if self._consumer is None:
            return []
        return [f"{place.topic}/{place.partition}" for place in self._consumer.statistics().stuck(seconds)]


def _servers(backend: Backend) -> tuple[KafkaSettings, S3Settings]:
    if backend.kafka is None:
        raise InvalidSetting("TACHO_KAFKA_BOOTSTRAP", None, "the fold reads the log from Kafka")
    if backend.s3 is None:
        raise InvalidSetting("TACHO_S3_URL", None, "the fold stores snapshots in S3")
    return backend.kafka, backend.s3


def _skipped(skipped: Skipped) -> None:
    _LOG.error(
        "tachograph: %d records of %s/%d were gone before they were folded; the archive may have them",
        *(skipped.records, *skipped.place),
    )
