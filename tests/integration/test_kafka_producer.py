"""A producer on a real broker loses nothing, keeps order, and lets no refused record stop the others."""

from __future__ import annotations

import os
import traceback
from collections import defaultdict
from pathlib import Path
from time import time

import pytest

from kafka_support import SECONDS_MAX, in_a_child, new_topic, read_all, set_limit
from services import fresh_backend, own_kafka
from tachograph.core.errors import AgentMisuse, InvalidSetting
from tachograph.stores.backend import KafkaSettings, Secret
from tachograph.stores.kafka import (
    EventProducer,
    Failed,
    QueueFull,
    Record,
    RecordTooLarge,
    TopicMissing,
)


@pytest.fixture
def settings(tmp_path: Path) -> KafkaSettings:
    """Of a real broker; topics carry a prefix of this test."""
    found = fresh_backend(tmp_path, "kafka").kafka
    assert found is not None
    return found


def send(producer: EventProducer, topic: str, key: bytes, value: bytes) -> None:
    """Hand a record over, however long that takes."""
    while True:
        try:
            return producer.produce(topic, key, value)
        except QueueFull:
            assert producer.flush(SECONDS_MAX) == 0


def first_seen(records: list[Record]) -> dict[bytes, list[bytes]]:
    """By key, the values in the order in which a reader that drops what it has meets them."""
    found: dict[bytes, list[bytes]] = defaultdict(list)
    for record in records:
        assert record.key is not None
        assert record.value is not None
        if record.value[:6] not in found[record.key]:
            found[record.key].append(record.value[:6])
    return found


def test_everything_arrives_as_it_was_sent(settings: KafkaSettings) -> None:
    """Key, value, headers and time; a key's records lie in one partition, in order."""
    topic = new_topic(settings)
    with EventProducer(settings, _refused) as producer:
        for number in range(400):
            producer.produce(topic, b"key-%d" % (number % 7), b"%06d" % number, [("h", b"1")], 1_700_000_000_000)
        assert producer.flush(SECONDS_MAX) == 0
        assert (producer.statistics().records, producer.statistics().waiting) == (400, 0)
    records = read_all(settings, topic)
    assert len(records) == 400
    assert {(record.headers, record.timestamp_ms) for record in records} == {((("h", b"1"),), 1_700_000_000_000)}
    for values in first_seen(records).values():
        assert values == sorted(values)


def test_a_key_lies_where_java_puts_it(settings: KafkaSettings) -> None:
    """Murmur2, positive, modulo the partitions; hashes as Kafka's own tests have them."""
    topic = new_topic(settings, 7)
    hashes = {b"21": -973932308, b"foobar": -790332482, b"a-little-bit-long-string": -985981536, b"abc": 479470107}
    with EventProducer(settings, _refused) as producer:
        for key in hashes:
            producer.produce(topic, key, key)
        assert producer.flush(SECONDS_MAX) == 0
    for record in read_all(settings, topic):
        assert record.key is not None
        assert record.partition == (hashes[record.key] & 0x7FFFFFFF) % 7


def test_what_is_too_large_is_refused_before_it_is_sent(settings: KafkaSettings) -> None:
    """With both sizes; and what is just small enough arrives."""
    topic = new_topic(settings, max_message_bytes="5000")
    with EventProducer(settings, _refused) as producer:
        with pytest.raises(RecordTooLarge, match="5000"):
            producer.produce(topic, b"k", bytes(5000))
        for _ in range(300):  # a batch of them all would be too large
            producer.produce(topic, b"k", os.urandom(5000 - 600))
        assert producer.flush(SECONDS_MAX) == 0
        assert producer.statistics().clients == 2  # the second has smaller batches
    assert len(read_all(settings, topic)) == 300


def test_a_refused_record_does_not_stop_the_others(settings: KafkaSettings) -> None:
    """The topic's limit was lowered after the producer had asked: just those that are too large are told, and left out."""
    topic = new_topic(settings, 2)
    failed: list[Failed] = []
    with EventProducer(settings, failed.append) as producer:
        send(producer, topic, b"k0", b"%06d" % 0)
        assert producer.flush(SECONDS_MAX) == 0
        set_limit(settings, topic, 100_000)
        for number in range(1, 500):
            filling = os.urandom(150_000) if number in {120, 377} else b""
            send(producer, topic, b"k%d" % (number % 5), b"%06d" % number + filling)
        assert producer.flush(4 * SECONDS_MAX) == 0
    assert [(each.value or b"")[:6] for each in failed] == [b"000120", b"000377"]
    assert all(isinstance(each.error, RecordTooLarge) for each in failed)
    seen = first_seen(read_all(settings, topic))
    assert sum(map(len, seen.values())) == 498
    for values in seen.values():
        assert values == sorted(values)


def test_a_time_that_the_broker_refuses_is_left_out(settings: KafkaSettings) -> None:
    """Too far in the future: the record arrives with the time of its sending."""
    topic = new_topic(settings, 1, message_timestamp_after_max_ms="3600000")
    far = int(time() * 1000) + 10**9
    with EventProducer(settings, _refused) as producer:
        for number in range(5):
            producer.produce(topic, b"k", b"%06d" % number, (), far if number == 2 else 0)
        assert producer.flush(SECONDS_MAX) == 0
    records = read_all(settings, topic)
    assert first_seen(records)[b"k"] == [b"%06d" % number for number in range(5)]
    assert all(record.timestamp_ms < far for record in records)


def test_an_outage_loses_nothing(tmp_path: Path) -> None:
    """The broker is killed and comes back: what waited arrives, once and in order; until then `flush` counts it."""
    with own_kafka(tmp_path) as cluster:
        topic = new_topic(cluster.settings, 1)
        with EventProducer(cluster.settings, _refused) as producer:
            for number in range(1000):
                send(producer, topic, b"k", b"%06d" % number)
                if number == 500:
                    cluster.servers[0].kill()
            assert producer.flush(0.2) > 0
            assert producer.statistics().latest_error is not None
            cluster.servers[0].start()
            assert producer.flush(SECONDS_MAX) == 0
        values = [record.value for record in read_all(cluster.settings, topic)]
        assert values == [b"%06d" % number for number in range(1000)]


def test_a_full_queue_leaves_the_record_with_its_caller(tmp_path: Path) -> None:
    """While no broker answers; and letting go of the producer does not wait for one."""
    with own_kafka(tmp_path) as cluster:
        topic = new_topic(cluster.settings, 1)
        small = KafkaSettings(cluster.address)
        with EventProducer(small, _refused) as producer:
            producer.produce(topic, b"k", b"first")
            assert producer.flush(SECONDS_MAX) == 0
            cluster.servers[0].kill()
            with pytest.raises(QueueFull, match="flush"):
                any(producer.produce(topic, b"k", os.urandom(900_000)) for _ in range(200))
            assert producer.flush(0.0) == producer.statistics().waiting > 50


def test_what_is_not_there_is_named(settings: KafkaSettings) -> None:
    """At the first record, not thirty seconds later; and no secret is shown."""
    with EventProducer(settings, _refused) as producer, pytest.raises(TopicMissing, match="nowhere"):
        producer.produce("nowhere", b"k", b"v")
    wrong = KafkaSettings(settings.bootstrap, {"security.protocol": Secret("hunter2")})
    with pytest.raises(InvalidSetting) as caught:
        EventProducer(wrong, _refused)
    assert "hunter2" not in "".join(traceback.format_exception(caught.value))


def test_a_forked_child_makes_its_own(settings: KafkaSettings) -> None:
    """The parent's producer refuses it, the child's end takes nothing from the parent."""
    topic = new_topic(settings, 1)
    with EventProducer(settings, _refused) as producer:
        producer.produce(topic, b"k", b"before")
        assert producer.flush(SECONDS_MAX) == 0
        producer.produce(topic, b"k", b"parent")

        def work() -> None:
            with pytest.raises(AgentMisuse, match="forked"):
                producer.flush(0.0)
            with EventProducer(settings, _refused) as own:
                own.produce(topic, b"k", b"child")
                assert own.flush(SECONDS_MAX) == 0

        in_a_child(work)
        assert producer.flush(SECONDS_MAX) == 0
    assert sorted(record.value or b"" for record in read_all(settings, topic)) == [b"before", b"child", b"parent"]


def _refused(failed: Failed) -> None:
    raise AssertionError(failed)
