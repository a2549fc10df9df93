"""How a processor of events runs: read, take, say that something was done, and end in good order."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from threading import Event
from typing import Final, Protocol

from prometheus_client import CollectorRegistry

from tachograph.core.errors import InvalidSetting, StoreUnavailable
from tachograph.stores.backend import Backend, KafkaSettings, S3Settings
from tachograph.stores.kafka import EventConsumer, Record, Skipped, TopicPartition
from tachograph.stream_processors._health import StatusAddress, StatusServer, Watchdog
from tachograph.stream_processors._sources import monotonic_s

_LOG: Final = logging.getLogger("tachograph.processors")

_STUCK_SECONDS: Final = 60.0
"""A partition that holds records, of a consumer that brings none, ends the process after so long: librdkafka has stood still
for ever after a change of leaders."""

_LAG_SECONDS: Final = 10.0
"""How often the broker is asked how far it is ahead: a fetch that is stuck hears of nothing."""


class EventProcessor(Protocol):
    """What is done with events."""

    def attach(self, consumer: EventConsumer, beat: Callable[[], None]) -> None:
        """Whose offsets are committed, and what is called whenever something was done."""
        ...

    def take(self, records: Sequence[Record]) -> None:
        """Take a batch in."""
        ...

    def drain(self) -> None:
        """Store and commit what is held."""
        ...

    def revoked(self, places: Iterable[TopicPartition]) -> None:
        """Partitions go to somebody else; their offsets can still be committed."""
        ...

    def lost(self, places: Iterable[TopicPartition]) -> None:
        """Partitions have gone to somebody else."""
        ...


@dataclass(frozen=True, slots=True)
class Pace:
    """How a processor reads."""

    group: str
    batch_records: int
    poll_seconds: float
    stall_seconds: float
    """Without progress for so long the process is ended."""


class Loop:
    """Runs one processor until it is told to stop.

    Args:
        what: it does, as in `archived`, for what is said of records that are gone.
        processor: takes the events.
        pace: how it reads.
        lag: is told how many records were not read yet.
        stop: set to end it.
    """

    def __init__(
        self, what: str, processor: EventProcessor, pace: Pace, lag: Callable[[float], None], stop: Event
    ) -> None:
        self._what = what
        self._processor = processor
        self._pace = pace
        self._lag = lag
        self._stop = stop
        self._consumer: EventConsumer | None = None
        self._watchdog = Watchdog(pace.stall_seconds, self._stuck)
        self._asked_s = self._busy_s = 0.0

    def run(self, kafka: KafkaSettings, topic: str, status: StatusAddress | None, metrics: CollectorRegistry) -> None:
        """Read a topic until told to stop, then once more take care of what is held.

        Raises:
            StoreUnavailable: a fault did not pass in time, or is none that passes.
        """
        with ExitStack() as opened:
            consumer = opened.enter_context(self._joined(kafka, topic))
            if status is not None:
                server = StatusServer(status.host, status.port, self._watchdog.fault, metrics)
                server.start()
                opened.callback(server.stop)
            self._watchdog.start()
            opened.callback(self._watchdog.stop)
            self._busy_s = monotonic_s()
            while not self._stop.is_set():
                records = consumer.poll(self._pace.batch_records, self._pace.poll_seconds)
                came_s = monotonic_s()
                self._processor.take(records)
                self._watchdog.beat()
                self._ask_lag(consumer)
                self._require_moving(kafka, busy=bool(records) or monotonic_s() - came_s > 1)
            self._processor.drain()

    def _require_moving(self, kafka: KafkaSettings, *, busy: bool) -> None:
        now = monotonic_s()
        if busy:
            self._busy_s = now
        elif now - self._busy_s >= _STUCK_SECONDS and (still := self._stuck(_STUCK_SECONDS)):
            raise StoreUnavailable(
                f"kafka {kafka.bootstrap}", f"{', '.join(still)} did not move for {_STUCK_SECONDS:.0f} s"
            )

    def _joined(self, kafka: KafkaSettings, topic: str) -> EventConsumer:
        """A member of the group, whose partitions the processor hears of."""
        self._consumer = EventConsumer(
            kafka,
            self._pace.group,
            [topic],
            on_revoked=self._processor.revoked,
            on_lost=self._processor.lost,
            on_skipped=self._skipped,
        )
        self._processor.attach(self._consumer, self._watchdog.beat)
        return self._consumer

    def _ask_lag(self, consumer: EventConsumer) -> None:
        now = monotonic_s()
        if now - self._asked_s < _LAG_SECONDS:
            return
        self._asked_s = now
        try:
            self._lag(sum(consumer.lag().values()))
        except StoreUnavailable as error:
            _LOG.warning("tachograph: the broker does not say how far it is ahead: %s", error)

    def _stuck(self, seconds: float) -> list[str]:
        """Partitions that hold records and have not moved for so many seconds."""
        if self._consumer is None:
            return []
        return [f"{place.topic}/{place.partition}" for place in self._consumer.statistics().stuck(seconds)]

    def _skipped(self, skipped: Skipped) -> None:
        place = skipped.place
        gone = "tachograph: %d records of %s/%d were gone before they were %s"
        _LOG.error(gone, skipped.records, place.topic, place.partition, self._what)


def servers_of(backend: Backend, who: str) -> tuple[KafkaSettings, S3Settings]:
    """The servers that a processor of events needs.

    Raises:
        InvalidSetting: Kafka or S3 is not set.
    """
    if backend.kafka is None:
        raise InvalidSetting("TACHO_KAFKA_BOOTSTRAP", None, f"the {who} reads the log from Kafka")
    if backend.s3 is None:
        raise InvalidSetting("TACHO_S3_URL", None, f"the {who} stores what it makes in S3")
    return backend.kafka, backend.s3
