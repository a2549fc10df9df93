"""A consumer of a real broker reads everything once in order, commits forward only, and never skips silently."""

from __future__ import annotations

import traceback
from dataclasses import replace
from pathlib import Path
from time import monotonic

import pytest
from confluent_kafka import TopicPartition as ClientPlace

from kafka_support import SECONDS_MAX, delete_before, drain, fill, in_a_child, new_topic, numbered
from service_plans import plan
from services import fresh_backend, started
from tachograph.control.dev._ports import Ports
from tachograph.control.dev._server import Server
from tachograph.core.errors import AgentMisuse, InvalidSetting
from tachograph.stores.backend import KafkaSettings, Secret
from tachograph.stores.kafka import (
    CommitRefused,
    EventConsumer,
    KafkaUnavailable,
    Skipped,
    TopicMissing,
    TopicPartition,
)
from tachograph.stores.kafka import _consumer as consumer_module


@pytest.fixture
def settings(tmp_path: Path) -> KafkaSettings:
    """Of a real broker; topics carry a prefix of this test."""
    found = fresh_backend(tmp_path, "kafka").kafka
    assert found is not None
    return found


def test_every_record_comes_once_and_in_order(settings: KafkaSettings) -> None:
    """Of four partitions, with key, headers, place and time as they were sent."""
    topic = new_topic(settings)
    fill(settings, topic, numbered(4, 300))
    with EventConsumer(settings, topic, [topic]) as consumer:
        records = drain(consumer, 1200)
        assert len(records) == 1200
        assert consumer.statistics().protocol == "consumer"
        assert set(consumer.lag().values()) == {0}
    for partition in range(4):
        values = [record.value for record in records if record.partition == partition]
        assert values == [b"%d" % number for number in range(300)]
    first = records[0]
    assert (first.topic, first.key, first.headers) == (topic, b"key-" + (first.value or b""), (("h", b"1"),))
    assert first.timestamp_ms > 0


def test_a_group_goes_on_behind_what_it_committed(settings: KafkaSettings) -> None:
    """And a commit of something earlier changes nothing."""
    topic = new_topic(settings, 1)
    fill(settings, topic, numbered(1, 10))
    place = TopicPartition(topic, 0)
    with EventConsumer(settings, topic, [topic]) as consumer:
        drain(consumer, 10)
        consumer.commit({place: 7})
        consumer.commit({place: 3})
        assert consumer.statistics().commits == 1
    with EventConsumer(settings, topic, [topic]) as consumer:
        assert [record.offset for record in drain(consumer, 3)] == [7, 8, 9]
        assert consumer.statistics().partitions[0].committed == 7


def test_nothing_is_committed_by_itself(settings: KafkaSettings) -> None:
    """What was read and not committed comes again."""
    topic = new_topic(settings, 1)
    fill(settings, topic, numbered(1, 5))
    for _ in range(2):
        with EventConsumer(settings, topic, [topic]) as consumer:
            assert [record.offset for record in drain(consumer, 5)] == [0, 1, 2, 3, 4]


def test_a_new_group_can_start_at_the_end(settings: KafkaSettings) -> None:
    """`from_beginning=False` reads what comes, not what was."""
    topic = new_topic(settings, 1)
    fill(settings, topic, numbered(1, 5))
    came: list[TopicPartition] = []
    with EventConsumer(settings, topic, [topic], on_assigned=came.extend, from_beginning=False) as consumer:
        until = monotonic() + SECONDS_MAX
        while not came and monotonic() < until:
            assert not consumer.poll(10, 0.1)
        fill(settings, topic, [(0, b"new")])
        assert [record.value for record in drain(consumer, 1)] == [b"new"]


def test_deleted_records_are_named(settings: KafkaSettings) -> None:
    """A group that was to go on where nothing is any more goes on at the oldest record, and says what is missing."""
    topic = new_topic(settings, 1)
    fill(settings, topic, numbered(1, 20))
    place = TopicPartition(topic, 0)
    with EventConsumer(settings, topic, [topic]) as consumer:
        drain(consumer, 5)
        consumer.commit({place: 5})
    delete_before(settings, topic, 12)
    skipped: list[Skipped] = []
    with EventConsumer(settings, topic, [topic], on_skipped=skipped.append) as consumer:
        assert [record.offset for record in drain(consumer, 8)] == list(range(12, 20))
        assert consumer.statistics().skipped == 7
    assert skipped == [Skipped(place, 5, 12)]
    assert skipped[0].records == 7


def test_records_deleted_while_they_are_to_be_read_are_named(settings: KafkaSettings) -> None:
    """The same where the broker says so in the middle: a fetch is out of range."""
    topic = new_topic(settings, 1)
    fill(settings, topic, numbered(1, 20))
    skipped: list[Skipped] = []
    small = KafkaSettings(settings.bootstrap, {"queued.min.messages": "1", "fetch.message.max.bytes": "80"})
    with EventConsumer(small, topic, [topic], on_skipped=skipped.append) as consumer:
        read = [record.offset for record in consumer.poll(1, SECONDS_MAX)]
        delete_before(settings, topic, 15)
        consumer._client.incremental_unassign([ClientPlace(topic, 0)])
        consumer._client.incremental_assign([ClientPlace(topic, 0, 1)])
        read += [record.offset for record in drain(consumer, 5)]
    assert read == [0, *range(15, 20)]
    assert skipped == [Skipped(TopicPartition(topic, 0), 1, 15)]


def test_a_rebalance_lets_the_caller_commit_first(settings: KafkaSettings) -> None:
    """Partitions move without a record lost or read twice, where what was read is committed as they go."""
    topic = new_topic(settings)
    fill(settings, topic, numbered(4, 50))
    revoked: list[TopicPartition] = []
    read: dict[TopicPartition, int] = {}

    def give_up(places: list[TopicPartition]) -> None:
        revoked.extend(places)
        first.commit({place: read[place] for place in places})

    with EventConsumer(settings, topic, [topic], on_revoked=give_up) as first:  # type: ignore[arg-type]  # a list comes
        for record in drain(first, 200):
            read[record.place] = record.offset + 1
        with EventConsumer(settings, topic, [topic]) as second:
            until = monotonic() + SECONDS_MAX
            while len(second.statistics().partitions) < 2 and monotonic() < until:
                assert not first.poll(10, 0.1)
                assert not second.poll(10, 0.1)
            assert len(revoked) == 2
            with pytest.raises(CommitRefused, match="no longer owns"):
                first.commit({revoked[0]: 51})
            fill(settings, topic, numbered(4, 1))
            assert {record.offset for record in drain(second, 2)} == {50}


def test_an_old_broker_is_read_by_the_classic_protocol(tmp_path: Path) -> None:
    """One that does not offer KIP-848: it is found out, and nobody has to set anything."""
    ports = Ports()
    planned = plan("kafka-1", tmp_path, ports)
    with started(replace(planned, servers=tuple(map(without_kip_848, planned.servers))), ports) as cluster:
        topic = new_topic(cluster.settings, 3)
        fill(cluster.settings, topic, numbered(3, 20))
        with EventConsumer(cluster.settings, topic, [topic]) as consumer:
            records = drain(consumer, 60)
            assert (len(records), consumer.statistics().protocol) == (60, "classic")
            consumer.commit({record.place: record.offset + 1 for record in records})
        fill(cluster.settings, topic, [(0, b"new")])
        with EventConsumer(cluster.settings, topic, [topic]) as consumer:
            assert [record.value for record in drain(consumer, 1)] == [b"new"]


def without_kip_848(server: Server) -> Server:
    """The same broker, offering the classic protocol only."""

    def prepare() -> None:
        server.prepare()
        with (server.directory / "server.properties").open("a") as file:
            file.write("group.coordinator.rebalance.protocols=classic\n")

    return replace(server, prepare=prepare)


def test_what_is_not_there_is_named(settings: KafkaSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    """A topic, a broker, a property: at once, and with what to do."""
    monkeypatch.setattr(consumer_module, "START_SECONDS_MAX", 1.0)
    with pytest.raises(TopicMissing, match=r"'nowhere'.*tacho topics ensure"):
        EventConsumer(settings, "g", ["nowhere"])
    with pytest.raises(KafkaUnavailable, match="127.0.0.1:1"):
        EventConsumer(KafkaSettings("127.0.0.1:1"), "g", ["t"])
    wrong = KafkaSettings(settings.bootstrap, {"security.protocol": Secret("hunter2")})
    with pytest.raises(InvalidSetting) as caught:
        EventConsumer(wrong, "g", ["t"])
    shown = "".join(traceback.format_exception(caught.value))
    assert "security.protocol" in shown
    assert "hunter2" not in shown


def test_a_forked_child_makes_its_own(settings: KafkaSettings) -> None:
    """The parent's consumer refuses it, and the child ends as it should; the parent reads on."""
    topic = new_topic(settings, 1)
    fill(settings, topic, numbered(1, 2))
    with EventConsumer(settings, topic, [topic]) as consumer:
        assert len(consumer.poll(1, SECONDS_MAX)) == 1

        def work() -> None:
            with pytest.raises(AgentMisuse, match="forked"):
                consumer.poll(1, 0.0)
            with EventConsumer(settings, topic + "-child", [topic]) as own:
                drain(own, 2)

        in_a_child(work)
        assert len(drain(consumer, 1)) == 1
