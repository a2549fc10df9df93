"""How far a consumer group is, asked from outside of it: whoever reads with another client is watched with this one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Self

from confluent_kafka import Consumer, KafkaException

from tachograph.stores.backend import KafkaSettings
from tachograph.stores.kafka._errors import TopicMissing
from tachograph.stores.kafka._library import Library
from tachograph.stores.kafka._metadata import metadata
from tachograph.stores.kafka._positions import ask
from tachograph.stores.kafka._values import TopicPartition

ANSWER_SECONDS_MAX: Final = 10.0
"""How long the cluster may take to name the partitions."""


class GroupWatch:
    """Looks at a group without being in it. One thread uses it.

    Args:
        settings: of the cluster.
        group: the group's id.
        topics: that it reads.

    Raises:
        InvalidSetting: a property in TACHO_KAFKA_CONFIG cannot be.
    """

    def __init__(self, settings: KafkaSettings, group: str, topics: Sequence[str]) -> None:
        self._library = Library(settings)
        self._topics = tuple(topics)
        properties = self._library.properties({"group.id": group, "enable.auto.commit": False})
        try:
            self._client = Consumer(properties)
        except (KafkaException, ValueError, TypeError) as error:
            raise self._library.refused(error) from None  # its text may hold a secret

    def behind(self) -> Mapping[TopicPartition, int]:
        """The partitions that hold records which the group has not committed: the offset that it goes on at.

        Raises:
            KafkaUnavailable: the cluster did not say it in time.
            NotAuthorised: it refuses this user.
            TopicMissing: a topic is not there.
        """
        there = metadata(self._client, self._library, lambda: None, ANSWER_SECONDS_MAX).topics
        places: list[TopicPartition] = []
        for topic in self._topics:
            if topic not in there:
                raise TopicMissing(self._library.bootstrap, topic)
            places += [TopicPartition(topic, number) for number in there[topic].partitions]
        try:
            found = ask(self._client, places)
        except KafkaException as error:
            raise self._library.translated(error) from error
        reached = {place: max(each.low, each.committed or 0) for place, each in found.items()}
        return {place: offset for place, offset in reached.items() if offset < found[place].high}

    def close(self) -> None:
        """Let go of the cluster."""
        self._client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
