"""The topics' plans: every number can be changed by a file, and what cannot be is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from tachograph.core.errors import InvalidSetting
from tachograph.stores.backend import KafkaSettings
from tachograph.stores.kafka import TOPICS, TopicPlan, topic_name, topic_plans


def plans(tmp_path: Path, text: str) -> dict[str, TopicPlan]:
    """The plans with a file's numbers, by name."""
    path = tmp_path / "topics.toml"
    path.write_text(text)
    return {plan.name: plan for plan in topic_plans(path)}


def test_without_a_file_the_plans_are_ours() -> None:
    """Records of events have room for the largest event there can be."""
    assert topic_plans(None) == TOPICS
    assert topic_name(KafkaSettings("b:1", topic_prefix="x."), "events") == "x.events"


def test_copies_follow_the_number_of_brokers() -> None:
    """Three where there are three brokers; and all but one must have a record before it counts."""
    plan = TopicPlan("events", 1, 24)
    assert [plan.copies(brokers) for brokers in (1, 2, 3, 9)] == [1, 2, 3, 3]
    assert [plan.config(brokers)["min.insync.replicas"] for brokers in (1, 2, 3)] == ["1", "1", "2"]


def test_a_compacted_topic_has_no_retention() -> None:
    """And one that is not compacted has one."""
    by_name = {plan.name: plan.config(3) for plan in TOPICS}
    assert by_name["snapshots"]["cleanup.policy"] == by_name["effects"]["cleanup.policy"] == "compact"
    assert by_name["events"]["retention.ms"] == str(7 * 24 * 3_600_000)
    assert "retention.ms" not in by_name["effects"]


def test_a_file_changes_numbers(tmp_path: Path) -> None:
    """Of all topics, and of one, which wins."""
    found = plans(tmp_path, "[all]\npartitions = 3\nreplication = 2\nretention_hours = 5\n[events]\npartitions = 64\n")
    assert (found["events"].partitions, found["findings"].partitions) == (64, 3)
    assert (found["events"].retention_hours, found["effects"].retention_hours) == (5, None)
    assert found["events"].copies(9) == 2


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("[all]\nreplicas = 3", "all.replicas"),
        ("[evnets]\npartitions = 3", "'evnets' is no topic"),
        ("[events]\npartitions = 'many'", "events.partitions"),
        ("[events]\npartitions = true", "events.partitions"),
        ("[events]\npartitions = 0", "topics.events.partitions = 0"),
        ("[events]\nreplication = 1\nmin_insync_replicas = 2", "min_insync_replicas = 2"),
        ("partitions = 3", "must be a table"),
        ("[events", "readable TOML"),
    ],
)
def test_what_cannot_be_is_named(tmp_path: Path, text: str, named: str) -> None:
    """With the place in the file."""
    with pytest.raises(InvalidSetting, match=named):
        plans(tmp_path, text)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    """And not taken for an empty one."""
    with pytest.raises(InvalidSetting, match="readable TOML"):
        topic_plans(tmp_path / "none.toml")
