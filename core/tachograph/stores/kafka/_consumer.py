"""Reading events: batches, positions that are never reset silently, commits that only go forward."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, Self, cast

from confluent_kafka import Consumer, KafkaError, KafkaException, Message

from tachograph.core.errors import StoreUnavailable
from tachograph.stores._forks import close_in_children
from tachograph.stores.backend import KafkaSettings
from tachograph.stores.kafka._commit import commit
from tachograph.stores.kafka._errors import CommitRefused, KafkaFatal, KafkaUnavailable, TopicMissing
from tachograph.stores.kafka._library import Library, Property
from tachograph.stores.kafka._membership import Listeners, Membership, Rebalanced
from tachograph.stores.kafka._metadata import metadata
from tachograph.stores.kafka._positions import END, bounds
from tachograph.stores.kafka._process import Owner, never_destroyed
from tachograph.stores.kafka._sources import monotonic_s
from tachograph.stores.kafka._values import ConsumerStatistics, Record, Skipped, TopicPartition

GATHER_SECONDS: Final = 0.05
"""How long a batch is gathered: `consume` waits for all that was asked for, or for the time."""

START_SECONDS_MAX: Final = 15.0
"""How long the cluster may take to answer for the first time."""

_GIVEN: Final[Mapping[str, Property]] = {
    # A broker that has just been started may know no topics yet; who joins then has nothing to read until it is asked again.
    "topic.metadata.refresh.interval.ms": 5_000,
}

_HELD: Final[Mapping[str, Property]] = {
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    # What is out of range is an error, and answered by a restart: a reset by itself would pass over records unseen.
    "auto.offset.reset": "error",
    "check.crcs": True,
    "enable.partition.eof": False,
}
"""Properties that our promises rest on."""

_CLASSIC: Final[Mapping[str, Property]] = {
    "group.protocol": "classic",
    # Cooperative assignors have looped for ever (librdkafka #4783); with an old broker all members stop for a moment.
    "partition.assignment.strategy": "range",
}

_KIP_848: Final = "ConsumerGroupHeartbeat"
"""The request by which librdkafka finds out that a broker does not offer the protocol: it ends with a fatal error."""


class EventConsumer:
    """A member of a consumer group. One thread uses it; `statistics` may be called by any.

    The broker's own group protocol (KIP-848) is used where it is offered, so that a rebalance stops only the
    partitions that move. Nothing is committed but by `commit`.

    Args:
        settings: of the cluster.
        group: the group's id.
        topics: names of the topics.
        on_assigned: partitions came; reading them starts behind what their group committed.
        on_revoked: partitions are about to go: the last chance to `commit` for them, from within the call.
        on_lost: partitions are gone, and with them the right to commit.
        on_skipped: records were gone before they were read; reading goes on at the oldest.
        from_beginning: whether a partition that the group never read is read from its oldest record, else from its end.

    Raises:
        KafkaUnavailable: no broker answers.
        NotAuthorised: the cluster refuses this user.
        TopicMissing: a topic is not there.
        InvalidSetting: a property in TACHO_KAFKA_CONFIG cannot be.
    """

    def __init__(
        self,
        settings: KafkaSettings,
        group: str,
        topics: Sequence[str],
        *,
        on_assigned: Rebalanced | None = None,
        on_revoked: Rebalanced | None = None,
        on_lost: Rebalanced | None = None,
        on_skipped: Callable[[Skipped], None] | None = None,
        from_beginning: bool = True,
    ) -> None:
        self._owner = Owner()
        self._library = Library(settings, self._heard)
        self._group = group
        self._topics = list(topics)
        listeners = Listeners(on_assigned, on_revoked, on_lost, on_skipped, self._heard)
        self._membership = Membership(group, self._library, listeners, from_beginning=from_beginning)
        self._assignment = self._membership.assignment
        self._failure: StoreUnavailable | None = None
        self._latest_error: str | None = None
        self._records = self._bytes = self._commits = self._errors = 0
        self._closed = False
        self._client = self._made()
        close_in_children(self)
        self._start()

    def poll(self, records_max: int, seconds: float) -> Sequence[Record]:
        """The next records, of any partitions, each partition's in order; none if none came in time.

        Args:
            records_max: at most so many.
            seconds: to wait for the first of them.

        Raises:
            KafkaFatal: this consumer can do no more; make a new one.
            NotAuthorised: the cluster refuses.
            TopicMissing: a topic was removed.
        """
        self._owner.check()
        until = monotonic_s() + seconds
        while True:
            self._raise_failure()
            left = until - monotonic_s()
            records = self._taken(self._client.consume(records_max, max(0.0, min(GATHER_SECONDS, left))))
            if records or left <= GATHER_SECONDS:
                return records

    def commit(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Commit, for each partition, the offset of the record to be read next; returns when the broker has it.

        What is committed already, or lies behind it, is left alone: a group never goes back.

        Raises:
            CommitRefused: a partition is not this consumer's any more.
            KafkaUnavailable: the broker did not take it in time.
        """
        self._owner.check()
        foreign = [f"{place.topic}/{place.partition}" for place in offsets if place not in self._assignment]
        if foreign:
            raise CommitRefused(self._group, f"it no longer owns {', '.join(foreign)}")
        news = self._assignment.news(offsets)
        if news:
            commit(self._client, self._library, self._group, news)
            self._assignment.commits(news)
            self._commits += 1

    def position(self, place: TopicPartition) -> int | None:
        """Offset of the record of a partition that is read next; None where nobody could say yet.

        Raises:
            KeyError: the partition is not this consumer's.
        """
        return self._assignment.position(place)

    def lag(self) -> Mapping[TopicPartition, int]:
        """How many records there are in each of its partitions that were not read yet, as the broker says now.

        Raises:
            KafkaUnavailable: the broker did not say it in time.
        """
        self._owner.check()
        places = self._assignment.places()
        try:
            ends = bounds(self._client, places, END)
        except KafkaException as error:
            raise self._library.translated(error) from error
        self._assignment.ends(ends)
        return {place: max(0, end - (self._assignment.position(place) or 0)) for place, end in ends.items()}

    def statistics(self) -> ConsumerStatistics:
        """What was done so far."""
        membership = self._membership
        return ConsumerStatistics(
            protocol="consumer" if membership.incremental else "classic",
            records=self._records,
            bytes=self._bytes,
            commits=self._commits,
            assignments=membership.assignments,
            revocations=membership.revocations,
            skipped=membership.skipped,
            errors=self._errors,
            latest_error=self._latest_error,
            partitions=self._assignment.statistics(),
        )

    def close(self) -> None:
        """Leave the group, `on_revoked` is called first; closing twice is as closing once."""
        if not self._closed:
            self._owner.check()
            self._closed = True
            self._client.close()

    def abandon(self) -> None:
        """In a forked child: the client is the parent's."""
        never_destroyed(self._client)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _made(self) -> Consumer:
        protocol = {"group.protocol": "consumer"} if self._membership.incremental else _CLASSIC
        properties = self._library.properties({**_HELD, **protocol, "group.id": self._group})
        try:
            return Consumer({**_GIVEN, **properties})
        except (KafkaException, ValueError, TypeError) as error:
            raise self._library.refused(error) from None  # its text may hold a secret

    def _start(self) -> None:
        there = metadata(self._client, self._library, lambda: self._failure, START_SECONDS_MAX).topics
        for topic in self._topics:
            if topic not in there:
                raise TopicMissing(self._library.bootstrap, topic)
        self._membership.subscribe(self._client, self._topics)

    def _taken(self, messages: list[Message]) -> list[Record]:
        records: list[Record] = []
        ends: dict[tuple[str, int], int] = {}
        for message in messages:
            error = message.error()
            if error is not None:
                self._failed(error, message)
                continue
            record = _record(message)
            ends[record.topic, record.partition] = record.offset + 1
            records.append(record)
        for place, end in ends.items():
            self._assignment.read(TopicPartition(*place), end)
        self._records += len(records)
        self._bytes += sum([len(record.value) for record in records if record.value is not None])
        return records

    def _failed(self, error: KafkaError, message: Message) -> None:
        """An error among the records: it is raised with the next `poll`, so that none of them is lost."""
        topic, partition = message.topic(), message.partition()
        if error.code() == KafkaError._AUTO_OFFSET_RESET and topic is not None and partition is not None:  # noqa: SLF001 librdkafka's own errors begin so
            self._membership.restart(self._client, TopicPartition(topic, partition))
        else:
            self._heard(self._library.translated(error, topic=topic or ""))

    def _go_classic(self) -> None:
        """The broker does not offer KIP-848: begin again with the protocol that every broker has."""
        self._membership.incremental = False
        self._client.close()
        self._client = self._made()
        self._membership.subscribe(self._client, self._topics)

    def _heard(self, error: StoreUnavailable) -> None:
        self._errors += 1
        self._latest_error = str(error)
        if not isinstance(error, KafkaUnavailable):
            self._failure = error

    def _raise_failure(self) -> None:
        failure, self._failure = self._failure, None
        if isinstance(failure, KafkaFatal) and _KIP_848 in failure.reason and self._membership.incremental:
            self._go_classic()
        elif failure is not None:
            raise failure


def _record(message: Message) -> Record:
    # A record that is no error has them all: three checks a record would be the most expensive part of this.
    topic, partition, offset = cast("str", message.topic()), cast("int", message.partition()), message.offset()
    headers = cast("list[tuple[str, bytes]] | None", message.headers())
    made_at = message.timestamp()[1]
    key, value = message.key(), message.value()
    return Record(topic, partition, cast("int", offset), made_at, key, value, tuple(headers) if headers else ())
