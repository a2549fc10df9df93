"""Topics of a real cluster: made once, compared ever after, never changed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kafka_support import admin, new_topic
from services import fresh_backend
from tachograph.core.errors import InvalidSetting
from tachograph.stores.backend import KafkaSettings, Secret
from tachograph.stores.kafka import (
    TOPICS,
    KafkaUnavailable,
    TopicDifference,
    TopicMissing,
    TopicPlan,
    ensure_topics,
    topic_name,
)
from tachograph.stores.kafka import _topics as topics_module
from tachograph.stores.kafka._topics import record_bytes_max


@pytest.fixture
def settings(tmp_path: Path) -> KafkaSettings:
    """Of a real broker; topics carry a prefix of this test."""
    found = fresh_backend(tmp_path, "kafka").kafka
    assert found is not None
    return found


def test_topics_are_made_once(settings: KafkaSettings) -> None:
    """As planned; the second time everything is as planned already."""
    names = [topic_name(settings, plan.name) for plan in TOPICS]
    first = ensure_topics(settings, TOPICS)
    assert (sorted(first.created), first.drift) == (sorted(names), ())
    again = ensure_topics(settings, TOPICS)
    assert (again.created, again.drift, sorted(again.unchanged)) == ((), (), sorted(names))


def test_drift_is_told_and_nothing_is_changed(settings: KafkaSettings) -> None:
    """Fewer partitions, another retention, times that are refused, a plan that would delete: all only named."""
    topic = new_topic(settings, 2, retention_ms="1000", max_message_bytes="17825792", min_insync_replicas="1")
    plan = TopicPlan(topic.removeprefix(settings.topic_prefix), 5, 1, 17825792)
    times = TopicDifference(topic, "message.timestamp.after.max.ms", str(2**63 - 1), "3600000")
    for _ in range(2):
        report = ensure_topics(settings, [plan])
        assert report.created == report.unchanged == ()
        assert set(report.drift) == {
            TopicDifference(topic, "partitions", "5", "2"),
            TopicDifference(topic, "retention.ms", "3600000", "1000"),
            times,
        }
    compacted = ensure_topics(settings, [replace(plan, partitions=2, retention_hours=None)])
    assert set(compacted.drift) == {TopicDifference(topic, "cleanup.policy", "compact", "delete"), times}


def test_looking_only_makes_nothing(settings: KafkaSettings) -> None:
    """What is missing is told as drift."""
    plan = TopicPlan("absent", 1, 1)
    name = topic_name(settings, "absent")
    report = ensure_topics(settings, [plan], create=False)
    assert report.drift == (TopicDifference(name, "topic", "there", "missing"),)
    client = admin(settings)
    assert name not in client.list_topics(timeout=10).topics


def test_the_largest_record_is_known(settings: KafkaSettings) -> None:
    """As the topic says; a topic that is not there is named."""
    topic = new_topic(settings, 1, max_message_bytes="12345")
    assert record_bytes_max(settings, topic) == 12345
    with pytest.raises(TopicMissing, match="nowhere"):
        record_bytes_max(settings, "nowhere")


def test_what_keeps_us_out_is_named(settings: KafkaSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    """No broker; a property that cannot be, whose value stays secret."""
    monkeypatch.setattr(topics_module, "SECONDS_MAX", 1.0)
    with pytest.raises(KafkaUnavailable, match="127.0.0.1:1"):
        ensure_topics(KafkaSettings("127.0.0.1:1"), TOPICS)
    with pytest.raises(InvalidSetting) as caught:
        ensure_topics(replace(settings, properties={"security.protocol": Secret("hunter2")}), TOPICS)
    assert "hunter2" not in str(caught.value)
