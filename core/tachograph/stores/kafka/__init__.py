"""Kafka: reading and writing events. The only package that imports the clients of confluent_kafka.

`EventConsumer` reads. Errors are translated in `_library`.
"""

from tachograph.stores.kafka._consumer import EventConsumer
from tachograph.stores.kafka._errors import (
    CommitRefused,
    KafkaFatal,
    KafkaUnavailable,
    NotAuthorised,
    RecordRefused,
    RecordTooLarge,
    TopicMissing,
)
from tachograph.stores.kafka._values import ConsumerStatistics, PartitionStatistics, Record, Skipped, TopicPartition

__all__ = [
    "CommitRefused",
    "ConsumerStatistics",
    "EventConsumer",
    "KafkaFatal",
    "KafkaUnavailable",
    "NotAuthorised",
    "PartitionStatistics",
    "Record",
    "RecordRefused",
    "RecordTooLarge",
    "Skipped",
    "TopicMissing",
    "TopicPartition",
]
