"""Committing offsets: synchronously, and again while the group's coordinator moves."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Final

from confluent_kafka import Consumer, KafkaError, KafkaException
from confluent_kafka import TopicPartition as ClientPlace

from tachograph.stores.kafka._errors import CommitRefused
from tachograph.stores.kafka._library import Library, kafka_error
from tachograph.stores.kafka._sources import monotonic_s
from tachograph.stores.kafka._values import TopicPartition

SECONDS_MAX: Final = 30.0
"""How long a commit is tried again."""

_PAUSE_S: Final = 0.1

_MOVED: Final = frozenset(
    {
        KafkaError.ILLEGAL_GENERATION,
        KafkaError.UNKNOWN_MEMBER_ID,
        KafkaError.FENCED_INSTANCE_ID,
        KafkaError.FENCED_MEMBER_EPOCH,
        KafkaError.REBALANCE_IN_PROGRESS,
        KafkaError._ASSIGNMENT_LOST,  # noqa: SLF001 librdkafka's own errors begin so
    }
)
"""The commit comes too late: somebody else has the partition."""


def commit(client: Consumer, library: Library, group: str, offsets: Mapping[TopicPartition, int]) -> None:
    """Return when the broker has the offsets.

    Raises:
        CommitRefused: a partition has another owner.
        KafkaUnavailable: the broker did not take them in time.
    """
    until = monotonic_s() + SECONDS_MAX
    while (error := _try(client, offsets)) is not None:
        if error.code() in _MOVED:
            raise CommitRefused(group, library.scrubbed(error.str()))
        if error.fatal() or monotonic_s() >= until:
            raise library.translated(error)
        threading.Event().wait(_PAUSE_S)


def _try(client: Consumer, offsets: Mapping[TopicPartition, int]) -> KafkaError | None:
    asked = [ClientPlace(*place, offset) for place, offset in offsets.items()]
    try:
        answers = client.commit(offsets=asked, asynchronous=False)
    except KafkaException as error:
        return kafka_error(error)
    return next((each.error for each in answers if each.error is not None), None)
