"""Where reading a partition starts: explicitly, from what the broker says, and never silently past records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as ClientPlace

from tachograph.stores.kafka._values import Skipped, TopicPartition

BEGINNING, END = -2, -1
"""What ListOffsets takes in place of a time (KIP-79): the oldest record, and behind the latest one."""

ASK_SECONDS_MAX = 10.0
"""How long the broker may take to say what it holds; longer, and the partition starts where the group committed."""


@dataclass(frozen=True, slots=True)
class Found:
    """What the broker says of a partition."""

    committed: int | None
    low: int
    """Offset of the oldest record."""
    high: int
    """Offset behind the latest one."""


@dataclass(frozen=True, slots=True)
class Start:
    """Where reading a partition starts."""

    offset: int
    found: Found
    skipped: Skipped | None
    """What is passed over, where something is."""


def ask(consumer: Consumer, places: Iterable[TopicPartition]) -> dict[TopicPartition, Found]:
    """What the broker says of some partitions, in three requests.

    Raises:
        KafkaException: it did not say it in time.
    """
    wanted = list(places)
    if not wanted:
        return {}
    committed = consumer.committed([ClientPlace(*place) for place in wanted], timeout=ASK_SECONDS_MAX)
    known = {place_of(each): each.offset for each in committed}
    low, high = bounds(consumer, wanted, BEGINNING), bounds(consumer, wanted, END)
    return {
        place: Found(known[place] if known.get(place, -1) >= 0 else None, low[place], high[place]) for place in wanted
    }


def bounds(consumer: Consumer, places: Iterable[TopicPartition], which: int) -> dict[TopicPartition, int]:
    """The first or the last offset of some partitions.

    Raises:
        KafkaException: the broker did not say it in time.
    """
    asked = [ClientPlace(*place, which) for place in places]
    if not asked:
        return {}
    return {place_of(each): each.offset for each in consumer.offsets_for_times(asked, timeout=ASK_SECONDS_MAX)}


def starts(
    found: Mapping[TopicPartition, Found], wanted: Mapping[TopicPartition, int], *, from_beginning: bool
) -> dict[TopicPartition, Start]:
    """Where reading starts: where it was to go on if that is there, else at the oldest record.

    Args:
        found: what the broker says.
        wanted: where reading was to go on; what is not in it goes on where its group committed.
        from_beginning: whether a partition that its group never read is read from its oldest record, else from its end.
    """
    return {place: _start(place, each, wanted.get(place), from_beginning) for place, each in found.items()}


def _start(place: TopicPartition, found: Found, wanted: int | None, from_beginning: bool) -> Start:
    if wanted is None:
        wanted = found.committed
    if wanted is None:
        return Start(found.low if from_beginning else found.high, found, None)
    if found.low <= wanted <= found.high:
        return Start(wanted, found, None)
    return Start(found.low, found, Skipped(place, wanted, found.low))


def place_of(place: ClientPlace) -> TopicPartition:
    """The client's partition as ours."""
    return TopicPartition(place.topic, place.partition)
