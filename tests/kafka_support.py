"""What tests of Kafka share: topics of their own, records in them, reading until so many came."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterable, Sequence
from itertools import count
from time import monotonic

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewTopic, ResourceType

from tachograph.stores.backend import KafkaSettings
from tachograph.stores.kafka import EventConsumer, Record
from tachograph.stores.kafka._consumer import _record as record_of
from tachograph.stores.kafka._topics import record_bytes_max

_NUMBERS = count(1)
SECONDS_MAX = 30.0
"""What fails after this long hangs."""


def in_a_child(work: Callable[[], object]) -> None:
    """Do something in a forked child, to its end.

    Clients that earlier tests left behind go first: a thread of theirs that looks a name up at this moment would leave the
    child unable to look any up (glibc's getaddrinfo takes no care of forks).
    """
    gc.collect()
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException:
            os._exit(1)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


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


def set_limit(settings: KafkaSettings, topic: str, record_bytes: int) -> None:
    """Change how large a record of a topic may be, as an operator would; returns when the broker has heard of it."""
    client = admin(settings)
    entry = ConfigEntry("max.message.bytes", str(record_bytes), incremental_operation=AlterConfigOpType.SET)
    asked = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
    for done in client.incremental_alter_configs([asked]).values():
        done.result(SECONDS_MAX)
    while record_bytes_max(settings, topic) != record_bytes:
        pass


def read_all(settings: KafkaSettings, topic: str) -> list[Record]:
    """Every record of a topic, as a reader apart from ours finds them."""
    client = Consumer({"bootstrap.servers": settings.bootstrap, "group.id": "read-all", "enable.auto.commit": False})
    try:
        partitions = client.list_topics(topic, timeout=SECONDS_MAX).topics[topic].partitions
        starts = [TopicPartition(topic, number, OFFSET_BEGINNING) for number in partitions]
        ends = {number: end_of(client, topic, number) for number in partitions}
        client.assign(starts)
        records: list[Record] = []
        while any(end > position(client, topic, number) for number, end in ends.items()):
            records += [record_of(message) for message in client.consume(1000, 0.2)]
        return records
    finally:
        client.close()


def end_of(client: Consumer, topic: str, number: int) -> int:
    """Offset behind the last record of a partition; a client that is new may not have heard of its leader yet."""
    until = monotonic() + SECONDS_MAX
    while True:
        try:
            return client.get_watermark_offsets(TopicPartition(topic, number), timeout=SECONDS_MAX)[1]
        except KafkaException:
            if monotonic() > until:
                raise
            client.poll(0.1)


def position(client: Consumer, topic: str, number: int) -> int:
    """Offset of the next record of a partition."""
    return max(0, client.position([TopicPartition(topic, number)])[0].offset)


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
