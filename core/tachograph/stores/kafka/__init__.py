"""Kafka: reading and writing events. The only package that imports the clients of confluent_kafka.

`EventConsumer` reads, `EventProducer` sends, `GroupWatch` tells how far a group is, `ensure_topics` makes topics and tells how they differ from `TOPICS`. Errors are translated in `_library`.
"""

from tachograph.core.ports import TopicDifference, TopicReport
from tachograph.stores.kafka._consumer import EventConsumer
from tachograph.stores.kafka._errors import (
    CommitRefused,
    KafkaFatal,
    KafkaUnavailable,
    NotAuthorised,
    QueueFull,
    RecordRefused,
    RecordTooLarge,
    TopicMissing,
)
from tachograph.stores.kafka._group import GroupWatch
from tachograph.stores.kafka._plans import TOPICS, TopicPlan, topic_name, topic_plans
from tachograph.stores.kafka._producer import EventProducer, Failed, ProducerStatistics
from tachograph.stores.kafka._sending import Outgoing
from tachograph.stores.kafka._topics import ensure_topics, topics_service
from tachograph.stores.kafka._values import ConsumerStatistics, PartitionStatistics, Record, Skipped, TopicPartition

__all__ = [
    "TOPICS",
    "CommitRefused",
    "ConsumerStatistics",
    "EventConsumer",
    "EventProducer",
    "Failed",
    "GroupWatch",
    "KafkaFatal",
    "KafkaUnavailable",
    "NotAuthorised",
    "Outgoing",
    "PartitionStatistics",
    "ProducerStatistics",
    "QueueFull",
    "Record",
    "RecordRefused",
    "RecordTooLarge",
    "Skipped",
    "TopicDifference",
    "TopicMissing",
    "TopicPartition",
    "TopicPlan",
    "TopicReport",
    "ensure_topics",
    "topic_name",
    "topic_plans",
    "topics_service",
]
