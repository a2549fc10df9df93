"""What tests of Kafka share: topics of their own, records in them, reading until so many came."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import count
from time import monotonic

from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tachograph.stores.backend import KafkaSettings
from tachograph.stores.kafka import EventConsumer, Record

_NUMBERS = count(1)
SECONDS_MAX = 30.0
"""What fails after this long hangs."""


def admin(settings: KafkaSettings) -> AdminClient:
    """A plain client, apart from ours."""
    return AdminClient({"bootstrap.servers": settings.bootstrap})


def new_topic(settings: KafkaSettings, partitions: int = 4, **config: str) -> str:
    """A topic that no other test of this process has; `config` with underscores for dots."""
    name = f"{settings.topic_prefix}topic{next(_NUMBERS)}"
    made = NewTopic(name, partitions, 1, config={key.replace("_", "."): value for key, value in config.items()})
    client = admin(settings)
    client.create_topics([made], operation_timeout=SECONDS_MAX)[name].result(SECONDS_MAX)
    while name not in client.list_topics(timeout=SECONDS_MAX).topics:
        pass  # the broker has made it and is about to hear of it
    return name


def delete_before(settings: KafkaSettings, topic: str, offset: int) -> None:
    """Delete the records of a topic's first partition that lie before an offset, as retention would."""
    client = admin(settings)
    for done in client.delete_records([TopicPartition(topic, 0, offset)]).values():
        done.result(SECONDS_MAX)


def fill(settings: KafkaSettings, topic: str, rows: Iterable[tuple[int, bytes]]) -> None:
    """Put (partition, value) rows into a topic."""
    producer = Producer({"bootstrap.servers": settings.bootstrap, "acks": "all"})
    for partition, value in rows:
        producer.produce(topic, value, f"key-{value.decode()}".encode(), partition, headers=[("h", b"1")])
    assert producer.flush(SECONDS_MAX) == 0


def numbered(partitions: int, records: int) -> list[tuple[int, bytes]]:
    """Rows for `fill`: `records` numbered ones for each partition, in turn."""
    return [(partition, b"%d" % number) for number in range(records) for partition in range(partitions)]


def drain(consumer: EventConsumer, records: int, others: Sequence[EventConsumer] = ()) -> list[Record]:
    """Read at least so many records; the others take part in the group meanwhile."""
    got: list[Record] = []
    until = monotonic() + SECONDS_MAX
    while len(got) < records:
        assert monotonic() < until, f"{len(got)} of {records} records came: {consumer.statistics()}"
        got += consumer.poll(500, 0.2)
        for other in others:
            assert not other.poll(1, 0.0)
    return got
