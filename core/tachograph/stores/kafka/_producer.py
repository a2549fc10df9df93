"""Sending records: in order, without loss, and without one that is refused stopping the others."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Self

from confluent_kafka import KafkaError

from tachograph.core.errors import StoreUnavailable
from tachograph.stores.backend import KafkaSettings
from tachograph.stores.kafka._errors import QueueFull, RecordTooLarge
from tachograph.stores.kafka._library import RECORD_FAULTS, Library
from tachograph.stores.kafka._plans import EVENT_BYTES_MAX
from tachograph.stores.kafka._sending import QUEUE_RECORDS_MAX, Outgoing, Sending, size_of
from tachograph.stores.kafka._sources import monotonic_s
from tachograph.stores.kafka._topics import record_bytes_max

BATCH_BYTES_MAX: Final = 1_000_000
"""librdkafka's own."""

RECORD_OVERHEAD_BYTES: Final = 512
"""What a batch of one record has beside it: 61 bytes of head, and lengths."""

PAUSE_SECONDS_MAX: Final = 5.0
"""How long is waited, at most, between two attempts while the cluster refuses for a reason that may pass."""

_PAUSE_SECONDS_MIN: Final = 0.1
_SERVE_RECORDS: Final = 4096

_OF_A_RECORD: Final = RECORD_FAULTS | {KafkaError._GAPLESS_GUARANTEE}  # noqa: SLF001 as librdkafka's own errors begin
"""Errors that one record of many may have brought about."""


@dataclass(frozen=True, slots=True)
class Failed:
    """A record that the cluster refuses, and would again; it was not sent."""

    topic: str
    key: bytes | None
    value: bytes | None
    error: StoreUnavailable


@dataclass(frozen=True, slots=True)
class ProducerStatistics:
    """A snapshot of a producer's counters."""

    records: int
    """Handed over."""
    bytes: int
    """Of their values."""
    waiting: int
    """Not known to be acknowledged, nor to be refused."""
    failed: int
    """Refused."""
    resent: int
    """Sent once more after a client ended: some of them are there twice, and readers drop what they have."""
    clients: int
    """Made so far; the second and later ones took over from one that ended."""
    latest_error: str | None


class EventProducer:
    """Sends records to Kafka, each topic partition's in the order of the calls. One thread uses it.

    Idempotent, acknowledged by all replicas, and never given up: while no broker answers, records wait, and `flush`
    says how many. A client that ends with a fatal error is replaced, and what it had not acknowledged is sent again in
    order. A record that the cluster refuses is searched for by halves, told to `on_failed`, and left out.

    Args:
        settings: of the cluster.
        on_failed: hears of records that are refused; called from within `flush`, and must not call the producer.

    Raises:
        InvalidSetting: a property in TACHO_KAFKA_CONFIG cannot be.
    """

    def __init__(self, settings: KafkaSettings, on_failed: Callable[[Failed], None]) -> None:
        self._settings = settings
        self._on_failed = on_failed
        self._library = Library(settings, self._heard)
        self._limits: dict[str, int] = {}
        self._batch_bytes = BATCH_BYTES_MAX
        self._parts: deque[list[Outgoing]] = deque()
        """What is not known to be acknowledged. The first part is with the client; more only after a refusal."""
        self._latest_error: str | None = None
        self._records = self._bytes = self._failed = self._resent = self._clients = 0
        self._pause_s = _PAUSE_SECONDS_MIN
        self._sending = self._made(gapless=True)

    def produce(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        headers: Sequence[tuple[str, str | bytes | None]] | dict[str, str | bytes | None] = (),
        timestamp_ms: int = 0,
    ) -> None:
        """Hand a record over; `flush` tells when it is there.

        Args:
            topic: the topic's whole name.
            key: records of one key keep their order.
            value: None is a tombstone.
            headers: names and values.
            timestamp_ms: milliseconds since 1970; 0: now.

        Raises:
            QueueFull: too many wait; the record is still the caller's. Flush, then call again.
            RecordTooLarge: the topic does not take it; the record is still the caller's.
            TopicMissing: there is no such topic.
            KafkaUnavailable: the topic is new to this producer and no broker answers.
            NotAuthorised: the topic is new to this producer and the cluster refuses.
        """
        record: Outgoing = (topic, value, key, headers if isinstance(headers, dict) else list(headers), timestamp_ms)
        if not self.produce_all(topic, [record]):
            limit = self._limits[topic]
            if size_of(record) > limit - RECORD_OVERHEAD_BYTES:
                raise RecordTooLarge(topic, size_of(record), limit)
            raise QueueFull(self._library.bootstrap, self._waiting())

    def produce_all(self, topic: str, records: Sequence[Outgoing]) -> int:
        """Hand records of one topic over, in order, up to the first for which there is no room, or which is too large.

        Returns:
            How many were; the rest is still the caller's. `produce` tells what is wrong with the next one.

        Raises:
            StoreUnavailable: as `produce`, about the topic.
        """
        limit = (self._limits.get(topic) or self._ask_limit(topic)) - RECORD_OVERHEAD_BYTES
        part = self._open_part()
        if part is None:
            return 0
        size = sum([len(record[1] or b"") for record in records])
        if size > limit:  # else not even all together are too large
            fitting = next((at for at, record in enumerate(records) if size_of(record) > limit), len(records))
            records = records[:fitting]
        taken = self._sending.send(records[: QUEUE_RECORDS_MAX - len(part)])
        if taken < len(records) or size > limit:
            size = sum([len(record[1] or b"") for record in records[:taken]])
        part += records[:taken]
        self._records += taken
        self._bytes += size
        return taken

    def forget_limits(self) -> None:
        """Ask the topics again how large a record may be: that may have been changed."""
        self._limits.clear()

    def flush(self, seconds: float) -> int:
        """Wait until all that was handed over is acknowledged or refused.

        Returns:
            How many records are neither; `statistics().latest_error` says why, as far as that is known.
        """
        until = monotonic_s() + seconds
        while self._parts:
            if not self._sending.is_settled(max(0.0, until - monotonic_s())):
                break
            if self._sending.fault is None:
                self._arrived()
            elif not self._mend(until):
                break
        return self._waiting()

    def statistics(self) -> ProducerStatistics:
        """What was done so far."""
        return ProducerStatistics(
            records=self._records,
            bytes=self._bytes,
            waiting=self._waiting(),
            failed=self._failed,
            resent=self._resent,
            clients=self._clients,
            latest_error=self._latest_error,
        )

    def close(self) -> None:
        """Let go of the cluster; what `flush` did not see acknowledged may or may not be there."""
        self._sending.drop()
        self._parts.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _made(self, *, gapless: bool) -> Sending:
        self._clients += 1
        largest = max((EVENT_BYTES_MAX, *self._limits.values()))
        return Sending(self._library, batch_bytes=self._batch_bytes, record_bytes=largest, gapless=gapless)

    def _open_part(self) -> list[Outgoing] | None:
        """The part that takes new records; None while an earlier one is mended."""
        parts = self._parts
        if len(parts) > 1 or self._sending.fault is not None:
            return None
        if not parts:
            parts.append([])
        part = parts[0]
        if len(part) >= _SERVE_RECORDS and self._sending.serve():
            part.clear()
        return part

    def _ask_limit(self, topic: str) -> int:
        limit = record_bytes_max(self._settings, topic) or BATCH_BYTES_MAX
        self._limits[topic] = limit
        if limit < self._batch_bytes:
            # A batch that is too large is refused as a whole, however small its records are.
            self._batch_bytes = limit
            self._replace(gapless=True)
        return limit

    def _waiting(self) -> int:
        return sum(map(len, self._parts))

    def _arrived(self) -> None:
        """The first part is there."""
        self._parts.popleft()
        self._pause_s = _PAUSE_SECONDS_MIN
        self._go_on()

    def _mend(self, until: float) -> bool:
        """The client ended: go on with another one. False: there is no time left for that."""
        fault, part = self._sending.fault, self._parts[0]
        assert fault is not None
        if monotonic_s() >= until:
            return False
        if len(part) == 1 and not self._sending.gapless and fault.code() in RECORD_FAULTS:
            self._refuse(part[0], fault)
        elif len(part) > 1 and fault.code() in _OF_A_RECORD:
            half = len(part) // 2
            self._parts[0] = part[half:]
            self._parts.appendleft(part[:half])
        elif fault.code() not in _OF_A_RECORD:
            self._latest_error = str(self._library.translated(fault, topic=part[0][0]))
            threading.Event().wait(max(0.0, min(self._pause_s, until - monotonic_s())))
            self._pause_s = min(self._pause_s * 2, PAUSE_SECONDS_MAX)
        self._go_on()
        return True

    def _refuse(self, record: Outgoing, fault: KafkaError) -> None:
        """A record, alone, was refused."""
        self._parts.popleft()
        topic, value, key, headers, timestamp_ms = record
        if fault.code() == KafkaError.INVALID_TIMESTAMP and timestamp_ms:
            self._parts.appendleft([(topic, value, key, headers, 0)])
            return
        self._failed += 1
        self._limits.pop(topic, None)  # asked again: it may have been lowered
        error = self._library.translated(fault, topic=topic, size=max(1, size_of(record)))
        self._latest_error = str(error)
        self._on_failed(Failed(topic, key, value, error))

    def _go_on(self) -> None:
        """Send the first part, if there is one, by a client that fits it: a record alone shows what is wrong with it."""
        part = self._parts[0] if self._parts else []
        gapless = len(part) != 1
        if self._sending.fault is not None or self._sending.gapless != gapless:
            self._replace(gapless=gapless)
        else:
            self._send(part)

    def _replace(self, *, gapless: bool) -> None:
        """A new client takes over the first part."""
        self._sending.drop()
        self._sending = self._made(gapless=gapless)
        self._send(self._parts[0] if self._parts else [])

    def _send(self, part: list[Outgoing]) -> None:
        taken = self._sending.send(part)
        self._resent += taken
        if taken < len(part):
            # The client before had room for them all; its successor has the rest when these are there.
            self._parts[0] = part[taken:]
            self._parts.appendleft(part[:taken])

    def _heard(self, error: StoreUnavailable) -> None:
        self._latest_error = str(error)
