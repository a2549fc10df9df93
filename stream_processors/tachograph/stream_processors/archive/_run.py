"""Running the archive."""

from __future__ import annotations

import logging
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Final

from tachograph.core.errors import InvalidSetting, StoreUnavailable
from tachograph.stores.backend import Backend, KafkaSettings, S3Settings
from tachograph.stores.kafka import EventConsumer, Skipped, topic_name
from tachograph.stores.registry import SchemaRegistry
from tachograph.stores.s3 import Bucket
from tachograph.stream_processors.archive._compactor import Compactor
from tachograph.stream_processors.archive._health import StatusServer, Watchdog
from tachograph.stream_processors.archive._metrics import ArchiveMetrics
from tachograph.stream_processors.archive._outlet import Outlet
from tachograph.stream_processors.archive._processor import ArchiveProcessor
from tachograph.stream_processors.archive._screen import Screen
from tachograph.stream_processors.archive._settings import ArchiveSettings
from tachograph.stream_processors.archive._sources import monotonic_s

_LOG: Final = logging.getLogger("tachograph.archive")

_LAG_SECONDS: Final = 10.0
"""How often the broker is asked how far it is ahead: a fetch that is stuck hears of nothing."""


@dataclass(frozen=True, slots=True)
class StatusAddress:
    """Where `/healthz` and `/metrics` are answered."""

    host: str = "127.0.0.1"
    port: int = 0
    """0: any free one."""


def run_archive(
    directory: Path,
    backend: Backend,
    stop: Event,
    settings: ArchiveSettings | None = None,
    status: StatusAddress | None = None,
) -> None:
    """Archive the log until `stop` is set; then store what is held, commit, and return.

    Several processes may do this at once: they share the partitions.

    Args:
        directory: for the registry's ids and the indexes of segments; it may be empty, and is made.
        backend: Kafka and S3 must be set.
        stop: set it, as by SIGTERM, and the archive ends in good order.
        settings: bounds; None: as `ArchiveSettings` has them.
        status: where to answer `/healthz` and `/metrics`; None: nowhere.

    Raises:
        InvalidSetting: Kafka or S3 is not set.
        StoreUnavailable: a fault of S3 or Kafka did not pass in time, or is none that passes; what was not committed is
            read again after the next start.
    """
    kafka, s3 = _servers(backend)
    directory.mkdir(parents=True, exist_ok=True)
    metrics = ArchiveMetrics()
    with ExitStack() as opened:
        topic = topic_name(kafka, "events")
        registry = opened.enter_context(SchemaRegistry(backend.registry, directory / "registry.json", topic=topic))
        outlet = Outlet(kafka)
        opened.callback(outlet.close)
        chosen, bucket = settings or ArchiveSettings(), Bucket(s3)
        compactor = Compactor(bucket, directory, chosen.compact_segments)
        processor = ArchiveProcessor(
            bucket, Screen(registry.from_wire), outlet, compactor=compactor, settings=chosen, metrics=metrics, stop=stop
        )
        loop = _Loop(processor, chosen, metrics, stop)
        consumer = opened.enter_context(loop.consumer(kafka, topic))
        if status is not None:
            server = StatusServer(status.host, status.port, loop.watchdog.fault, metrics.registry)
            server.start()
            opened.callback(server.stop)
        with loop.watched():
            loop.run(consumer)


class _Loop:
    """Reads, takes, stores; and says that it does."""

    def __init__(
        self, processor: ArchiveProcessor, settings: ArchiveSettings, metrics: ArchiveMetrics, stop: Event
    ) -> None:
        self._settings = settings
        self._metrics = metrics
        self._stop = stop
        self._consumer: EventConsumer | None = None
        self.watchdog = Watchdog(settings.stall_seconds, self._stuck)
        self.processor = processor
        self._asked_s = 0.0

    def consumer(self, kafka: KafkaSettings, topic: str) -> EventConsumer:
        """A member of the group, whose partitions the processor hears of."""
        self._consumer = EventConsumer(
            kafka,
            self._settings.group,
            [topic],
            on_revoked=self.processor.revoked,
            on_lost=self.processor.lost,
            on_skipped=_skipped,
        )
        self.processor.attach(self._consumer, self.watchdog.beat)
        return self._consumer

    @contextmanager
    def watched(self) -> Generator[None]:
        """Ends the process where it makes no progress."""
        self.watchdog.start()
        try:
            yield
        finally:
            self.watchdog.stop()

    def run(self, consumer: EventConsumer) -> None:
        """Until it is to stop, then once more what is held."""
        while not self._stop.is_set():
            self.processor.take(consumer.poll(self._settings.batch_records, self._settings.poll_seconds))
            self.watchdog.beat()
            self._ask_lag(consumer)
        self.processor.drain()

    def _ask_lag(self, consumer: EventConsumer) -> None:
        now = monotonic_s()
        if now - self._asked_s < _LAG_SECONDS:
            return
        self._asked_s = now
        try:
            self._metrics.lag.set(sum(consumer.lag().values()))
        except StoreUnavailable as error:
            _LOG.warning("tachograph: the broker does not say how far it is ahead: %s", error)

    def _stuck(self, seconds: float) -> list[str]:
        if self._consumer is None:
            return []
        return [f"{place.topic}/{place.partition}" for place in self._consumer.statistics().stuck(seconds)]


def _servers(backend: Backend) -> tuple[KafkaSettings, S3Settings]:
    if backend.kafka is None:
        raise InvalidSetting("TACHO_KAFKA_BOOTSTRAP", None, "the archive reads the log from Kafka")
    if backend.s3 is None:
        raise InvalidSetting("TACHO_S3_URL", None, "the archive stores segments in S3")
    return backend.kafka, backend.s3


def _skipped(skipped: Skipped) -> None:
    _LOG.error(
        "tachograph: %d records of %s/%d were gone before they were archived",
        *(skipped.records, *skipped.place),
    )
