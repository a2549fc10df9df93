"""What goes in and out of Kafka, as values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class TopicPartition(NamedTuple):
    """One partition of a topic."""

    topic: str
    partition: int


class Record(NamedTuple):
    """A record as it lies in a topic; a named tuple, since every event of every run becomes one."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    """Milliseconds since 1970, as its producer said; -1 where it said nothing."""
    key: bytes | None
    value: bytes | None
    """None: a tombstone of a compacted topic."""
    headers: tuple[tuple[str, bytes], ...]

    @property
    def place(self) -> TopicPartition:
        """Where it lies."""
        return TopicPartition(self.topic, self.partition)


@dataclass(frozen=True, slots=True)
class Skipped:
    """Records that were gone before they were read, or a partition that was made anew."""

    place: TopicPartition
    wanted: int
    """Offset of the record that was to be read next."""
    start: int
    """Offset at which reading goes on: the oldest that is there."""

    @property
    def records(self) -> int:
        """How many offsets were passed over; 0 where the partition was made anew."""
        return max(0, self.start - self.wanted)


@dataclass(frozen=True, slots=True)
class PartitionStatistics:
    """How far a consumer is in one partition."""

    place: TopicPartition
    position: int | None
    """Offset of the next record to be read; None until the first is, where the broker could not be asked."""
    committed: int | None
    """As this consumer committed it, or found it."""
    end: int | None
    """Offset behind the last record, as far as was heard: with every fetch, and whenever `lag` asks."""
    idle_s: float
    """Seconds since its position last moved."""


@dataclass(frozen=True, slots=True)
class ConsumerStatistics:
    """A snapshot of a consumer's counters."""

    protocol: str
    """`consumer` (KIP-848) or `classic`."""
    records: int
    bytes: int
    """Of their values."""
    commits: int
    assignments: int
    """How often partitions came."""
    revocations: int
    """How often partitions went."""
    skipped: int
    """Records that were gone before they were read."""
    errors: int
    """What librdkafka reported; it goes on by itself after most of it."""
    latest_error: str | None
    partitions: tuple[PartitionStatistics, ...]

    def stuck(self, seconds: float) -> tuple[TopicPartition, ...]:
        """Partitions that hold more and have not moved for so long.

        Only as good as `end` is: call `lag` first, a stuck fetch hears of nothing.
        """
        return tuple(
            each.place
            for each in self.partitions
            if each.idle_s >= seconds and each.end is not None and each.end > (each.position or 0)
        )
