"""One producer client of the library: records go in, and it tells whether all arrived."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from threading import Thread
from typing import Final

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from tachograph.stores._forks import close_in_children
from tachograph.stores.kafka._library import RECORD_FAULTS, Library, Property, kafka_error
from tachograph.stores.kafka._process import Owner, never_destroyed

QUEUE_RECORDS_MAX: Final = 100_000
"""Records that wait for the broker, at most."""

QUEUE_KIB_MAX: Final = 64 * 1024
"""The same in KiB: what an outage costs in memory."""

_CLOSE_SECONDS_MAX: Final = 1.0

_HELD: Final[Mapping[str, Property]] = {
    "acks": "all",
    "enable.idempotence": True,
    # With five in flight order is kept, too, and it is not faster: one is simpler to trust.
    "max.in.flight": 1,
    # A record is never given up: whoever sent it still has it, and cannot know whether it arrived.
    "message.timeout.ms": 0,
    # The partition of a key is the one that Java and Faust find.
    "partitioner": "murmur2_random",
    # What arrives is not reported record by record: that would cost as much as sending it.
    "delivery.report.only.error": True,
    "queue.buffering.max.messages": QUEUE_RECORDS_MAX,
    "queue.buffering.max.kbytes": QUEUE_KIB_MAX,
}
"""Properties that our promises rest on."""

_GIVEN: Final[Mapping[str, Property]] = {"compression.type": "lz4", "linger.ms": 5}


Headers = list[tuple[str, str | bytes | None]] | dict[str, str | bytes | None]
"""Names and values. A dictionary of text is none of the garbage collector's concern, as a list of pairs is; and there is one
for every event on its way."""

Outgoing = tuple[str, bytes | None, bytes | None, Headers, int]
"""A record on its way: topic, value, key, headers, and milliseconds since 1970, 0 for now. A plain tuple: one is made
for every event that is shipped."""


def size_of(record: Outgoing) -> int:
    """Bytes of everything in a record."""
    _, value, key, headers, _ = record
    pairs = headers.items() if isinstance(headers, dict) else headers
    return len(value or b"") + len(key or b"") + sum(len(name) + len(text or b"") for name, text in pairs)


class Sending:
    """A client for as long as nothing goes wrong; then a new one takes over what was not acknowledged.

    Args:
        library: of the cluster.
        batch_bytes: no batch may be larger than a topic takes.
        record_bytes: the largest record.
        gapless: when a batch is refused, the client ends there: nothing behind it overtakes it.

    Raises:
        InvalidSetting: a property in TACHO_KAFKA_CONFIG cannot be.
    """

    def __init__(self, library: Library, *, batch_bytes: int, record_bytes: int, gapless: bool) -> None:
        self._owner = Owner()
        self.gapless = gapless
        self.fault: KafkaError | None = None
        """What went wrong, where something did: then nothing more is sent."""
        ours = {
            **_HELD,
            "batch.size": batch_bytes,
            "message.max.bytes": record_bytes,
            "enable.gapless.guarantee": gapless,
        }
        properties = library.properties(ours)
        try:
            self._client = Producer({**_GIVEN, **properties, "on_delivery": self._on_failed})
        except (KafkaException, ValueError, TypeError) as error:
            raise library.refused(error) from None  # its text may hold a secret
        close_in_children(self)

    def send(self, records: Sequence[Outgoing]) -> int:
        """Hand records over, in order, as long as there is room; how many were."""
        produce = self._client.produce
        taken = 0
        try:
            for topic, value, key, headers, timestamp_ms in records:
                produce(topic, value, key, -1, None, None, timestamp_ms, headers)
                taken += 1
        except BufferError:
            return taken
        except KafkaException as error:
            self._fail(kafka_error(error))
            return taken + 1  # it is this client's: whoever takes over from it sends it
        return taken

    def is_settled(self, seconds: float) -> bool:
        """Wait for the acknowledgements; whether all are there, or none will come any more."""
        self._owner.check()
        self._hear(lambda: self._client.flush(seconds))
        return self.fault is not None or not len(self._client)

    def serve(self) -> bool:
        """Hear what there is to hear; whether all is acknowledged."""
        self._hear(lambda: self._client.poll(0))
        return self.fault is None and not len(self._client)

    def drop(self) -> None:
        """Let go of it, and of what it did not send.

        The library waits for its threads. In a process that was forked while another thread looked a name up, they never end:
        glibc's getaddrinfo leaves its lock taken there. So nobody waits for them for long.
        """
        self.fault = self.fault or _UNTOLD
        closing = Thread(target=self._close, name="tachograph-kafka-close", daemon=True)
        try:
            closing.start()
        except RuntimeError:  # the interpreter ends, and lets no more threads begin
            self._close()
        else:
            closing.join(2 * _CLOSE_SECONDS_MAX)

    def _close(self) -> None:
        try:
            self._client.purge()
            self._client.flush(_CLOSE_SECONDS_MAX)
            self._client.close()
        except (KafkaException, SystemError):
            pass  # it has ended already, with a fatal error

    def abandon(self) -> None:
        """In a forked child: the client is the parent's."""
        never_destroyed(self._client)

    def _hear(self, listen: Callable[[], object]) -> None:
        if self.fault is not None:
            return
        try:
            listen()
        except KafkaException as error:
            self._fail(kafka_error(error))
        except SystemError as error:  # the library ran a callback while it was about to raise
            reason = error.__cause__
            self._fail(kafka_error(reason) if isinstance(reason, KafkaException) else _UNTOLD)

    def _on_failed(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self._fail(error)

    def _fail(self, error: KafkaError) -> None:
        # A client that ends reports every record that it still had: the reason is the first, or the record's own.
        if self.fault is None or (error.code() in RECORD_FAULTS and self.fault.code() not in RECORD_FAULTS):
            self.fault = error


_UNTOLD: Final = KafkaError(KafkaError._FATAL, "the client ended without a reason")  # noqa: SLF001 as librdkafka's own errors begin
