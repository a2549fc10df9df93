"""A consumer's part in its group: which partitions come and go, and where reading each of them starts."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from confluent_kafka import OFFSET_INVALID, Consumer, KafkaException
from confluent_kafka import TopicPartition as ClientPlace

from tachograph.core.errors import StoreUnavailable
from tachograph.stores.kafka._library import Library
from tachograph.stores.kafka._positions import ask, place_of, starts
from tachograph.stores.kafka._progress import Assignment
from tachograph.stores.kafka._values import Skipped, TopicPartition

_LOG: Final = logging.getLogger("tachograph.kafka")

Rebalanced = Callable[[Sequence[TopicPartition]], None]
"""Hears of partitions that came or went, from within `poll` or `close`."""


@dataclass(frozen=True, slots=True)
class Listeners:
    """Who hears of what a group does."""

    assigned: Rebalanced | None
    revoked: Rebalanced | None
    lost: Rebalanced | None
    skipped: Callable[[Skipped], None] | None
    error: Callable[[StoreUnavailable], None]


class Membership:
    """Follows the group's rebalances.

    Args:
        group: the group's id.
        library: of the client.
        listeners: who hears of it.
        from_beginning: as `EventConsumer` has it.
    """

    def __init__(self, group: str, library: Library, listeners: Listeners, *, from_beginning: bool) -> None:
        self.assignment = Assignment()
        self.incremental = True
        """Whether partitions come and go one by one (KIP-848), or all at once."""
        self.assignments = self.revocations = self.skipped = 0
        self._group = group
        self._library = library
        self._listeners = listeners
        self._from_beginning = from_beginning

    def subscribe(self, client: Consumer, topics: list[str]) -> None:
        """Join the group."""
        client.subscribe(topics, on_assign=self._on_assign, on_revoke=self._on_revoke, on_lost=self._on_lost)

    def restart(self, client: Consumer, place: TopicPartition) -> None:
        """What was to be read next is not there: begin at what is."""
        assignment = self.assignment
        if place not in assignment:
            return
        # Without increments the whole assignment is placed anew, each partition where it stands.
        places = [place] if self.incremental else assignment.places()
        known = {each: assignment.position(each) for each in places}
        if self.incremental:
            client.incremental_unassign([ClientPlace(*place)])
        self._place(client, places, {each: position for each, position in known.items() if position is not None})

    def _on_assign(self, client: Consumer, partitions: list[ClientPlace]) -> None:
        places = [place_of(each) for each in partitions]
        self.assignments += 1
        self._place(client, places, {})
        if places and self._listeners.assigned is not None:
            self._listeners.assigned(places)

    def _on_revoke(self, client: Consumer, partitions: list[ClientPlace]) -> None:
        places = [place_of(each) for each in partitions]
        try:
            if self._listeners.revoked is not None:
                self._listeners.revoked(places)
        finally:
            self.assignment.remove(places)
            self._release(client, partitions)

    def _on_lost(self, client: Consumer, partitions: list[ClientPlace]) -> None:
        places = [place_of(each) for each in partitions]
        self.assignment.remove(places)
        try:
            if self._listeners.lost is not None:
                self._listeners.lost(places)
        finally:
            self._release(client, partitions)

    def _release(self, client: Consumer, partitions: list[ClientPlace]) -> None:
        self.revocations += 1
        if self.incremental:
            client.incremental_unassign(partitions)
        else:
            client.unassign()

    def _place(self, client: Consumer, places: Sequence[TopicPartition], wanted: Mapping[TopicPartition, int]) -> None:
        try:
            chosen = starts(ask(client, places), wanted, from_beginning=self._from_beginning)
        except KafkaException as error:
            self._place_unasked(client, places, wanted)
            self._listeners.error(self._library.translated(error))
            return
        for place, start in chosen.items():
            self.assignment.add(place, start.offset, start.found.committed, start.found.high)
        self._assign(client, [ClientPlace(*place, start.offset) for place, start in chosen.items()])
        for start in chosen.values():
            if start.skipped is not None:
                self._skip(start.skipped)

    def _place_unasked(
        self, client: Consumer, places: Sequence[TopicPartition], wanted: Mapping[TopicPartition, int]
    ) -> None:
        """The broker could not be asked: librdkafka will, and says so where the offset is not there."""
        for place in places:
            self.assignment.add(place, wanted.get(place), None, None)
        self._assign(client, [ClientPlace(*place, wanted.get(place, OFFSET_INVALID)) for place in places])

    def _assign(self, client: Consumer, partitions: list[ClientPlace]) -> None:
        if self.incremental:
            client.incremental_assign(partitions)
        else:
            client.assign(partitions)

    def _skip(self, skipped: Skipped) -> None:
        self.skipped += skipped.records
        _LOG.warning(
            "tachograph: group %s was to go on at offset %d of %s/%d, which is not there: it goes on at %d, "
            "and %d records are not read",
            *(self._group, skipped.wanted, *skipped.place, skipped.start, skipped.records),
        )
        if self._listeners.skipped is not None:
            self._listeners.skipped(skipped)
