"""How far a consumer is in each of its partitions; knows no client."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tachograph.stores.kafka._sources import monotonic_s
from tachograph.stores.kafka._values import PartitionStatistics, TopicPartition


@dataclass(slots=True)
class Progress:
    """How far a consumer is in one partition; None where nobody could say yet."""

    position: int | None
    committed: int | None
    end: int | None
    moved_at_s: float


class Assignment:
    """The partitions that are a consumer's, and how far it is in them. Written by one thread, read by any."""

    def __init__(self) -> None:
        self._progress: dict[TopicPartition, Progress] = {}

    def __contains__(self, place: TopicPartition) -> bool:
        return place in self._progress

    def __len__(self) -> int:
        return len(self._progress)

    def places(self) -> list[TopicPartition]:
        """The partitions."""
        return list(self._progress)

    def add(self, place: TopicPartition, position: int | None, committed: int | None, end: int | None) -> None:
        """A partition came."""
        self._progress[place] = Progress(position, committed, end, monotonic_s())

    def remove(self, places: Iterable[TopicPartition]) -> None:
        """Partitions went."""
        for place in places:
            self._progress.pop(place, None)

    def position(self, place: TopicPartition) -> int | None:
        """Offset of the next record."""
        return self._progress[place].position

    def committed(self, place: TopicPartition) -> int | None:
        """What is committed, as far as is known."""
        return self._progress[place].committed

    def read(self, place: TopicPartition, position: int) -> None:
        """Records up to this offset, which is not among them, were read."""
        progress = self._progress.get(place)
        if progress is not None:
            progress.position, progress.moved_at_s = position, monotonic_s()

    def ends(self, ends: Mapping[TopicPartition, int]) -> None:
        """Where the partitions end was heard."""
        for place, end in ends.items():
            progress = self._progress.get(place)
            if progress is not None and end >= 0:
                progress.end = end

    def news(self, offsets: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        """Those of some offsets that go beyond what is committed."""
        return {
            place: offset
            for place, offset in offsets.items()
            if (known := self._progress[place].committed) is None or offset > known
        }

    def commits(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Offsets were committed."""
        for place, offset in offsets.items():
            if place in self._progress:
                self._progress[place].committed = offset

    def statistics(self) -> tuple[PartitionStatistics, ...]:
        """A snapshot, sorted by partition."""
        now = monotonic_s()
        return tuple(
            PartitionStatistics(place, each.position, each.committed, each.end, now - each.moved_at_s)
            for place, each in sorted(dict(self._progress).items())
        )
