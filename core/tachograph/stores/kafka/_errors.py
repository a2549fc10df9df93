"""What can go wrong with Kafka, in words that say what to do.

StoreUnavailable
├── KafkaUnavailable   no broker answers, or none in time: the same call may succeed later
│   └── QueueFull      too many records wait for a broker
├── KafkaFatal         a client that can do no more; a new one can
├── NotAuthorised      the cluster knows this user and refuses, or does not know it
├── TopicMissing       a topic is not there
├── RecordTooLarge     a record is larger than its topic takes
├── RecordRefused      the broker refuses a record for another reason
└── CommitRefused      the partition has another owner by now: its records come again there
"""

from __future__ import annotations

from tachograph.core.errors import StoreUnavailable


class KafkaUnavailable(StoreUnavailable):
    """No broker answers, or none in time.

    Args:
        bootstrap: where the cluster is looked for.
        reason: what happened.
    """


class QueueFull(KafkaUnavailable):
    """Too many records wait to be acknowledged; the one that was to be added is still its caller's.

    Args:
        bootstrap: where the cluster is.
        waiting: records that wait.
    """

    def __init__(self, bootstrap: str, waiting: int) -> None:
        self.waiting = waiting
        super().__init__(bootstrap, f"{waiting} records wait to be acknowledged; flush, then send this one again")


class KafkaFatal(StoreUnavailable):
    """A client of Kafka can do no more.

    Args:
        bootstrap: where the cluster is.
        reason: what happened.
    """


class NotAuthorised(StoreUnavailable):
    """The cluster refuses this user.

    Args:
        bootstrap: where the cluster is.
        reason: what was refused.
    """

    exit_code = 64

    def __init__(self, bootstrap: str, reason: str) -> None:
        super().__init__(
            bootstrap, f"{reason}; check the user and its rights in the file TACHO_KAFKA_CONFIG and in the cluster"
        )


class TopicMissing(StoreUnavailable):
    """A topic is not there.

    Args:
        bootstrap: where the cluster is.
        topic: its name.
    """

    exit_code = 64

    def __init__(self, bootstrap: str, topic: str) -> None:
        self.topic = topic
        super().__init__(
            bootstrap,
            f"there is no topic {topic!r}, or this user may not see it; make it with `tacho topics ensure`, "
            f"or mend TACHO_TOPIC_PREFIX",
        )


class RecordTooLarge(StoreUnavailable):
    """A record is larger than may be sent.

    Args:
        topic: where it was to go.
        size: of the record, in bytes.
        limit: the largest there is, in bytes; None where only the broker knows.
    """

    def __init__(self, topic: str, size: int, limit: int | None) -> None:
        self.size = size
        self.limit = limit
        than = "than the broker takes" if limit is None else f"than the {limit} that it takes"
        super().__init__(topic, f"a record has {size} bytes, more {than}; raise the topic's max.message.bytes")


class RecordRefused(StoreUnavailable):
    """The broker refuses a record, and would again.

    Args:
        topic: where it was to go.
        reason: the broker's.
    """


class CommitRefused(StoreUnavailable):
    """An offset cannot be committed: the partition is not this consumer's any more.

    Args:
        group: the consumer group.
        reason: the broker's.
    """

    def __init__(self, group: str, reason: str) -> None:
        super().__init__(
            f"consumer group {group}",
            f"the offsets are not committed: {reason}; another member reads these records again, drop what is held of them",
        )
