"""Causal order of events that come over many partitions."""

from __future__ import annotations

import random
from functools import cache

from bench._measure import Figures, Subject, timed
from tachograph.core.causality import EventId, HoldBack

_PARTITIONS = 64
_AGENTS = 1_000
_EVENTS = 200_000
_BATCH = 256
_CROSSING = 0.1
"""Of the events: those that depend on one of another stream."""

Arrival = tuple[EventId, tuple[EventId, ...]]


@cache
def arrivals() -> tuple[Arrival, ...]:
    """Events of 1,000 agents as they come from 64 partitions, read in batches at different speeds."""
    rng = random.Random(7)
    partitions: list[list[Arrival]] = [[] for _ in range(_PARTITIONS)]
    counts = [0] * _AGENTS
    for _ in range(_EVENTS):
        agent = rng.randrange(_AGENTS)
        other = rng.randrange(_AGENTS)
        causes = (_id(other, counts[other]),) if counts[other] and rng.random() < _CROSSING and other != agent else ()
        counts[agent] += 1
        partitions[agent % _PARTITIONS].append((_id(agent, counts[agent]), causes))
    order: list[Arrival] = []
    places = [0] * _PARTITIONS
    while any(place < len(part) for place, part in zip(places, partitions, strict=True)):
        partition = rng.randrange(_PARTITIONS)
        order += partitions[partition][places[partition] : places[partition] + _BATCH]
        places[partition] += _BATCH
    return tuple(order)


def order() -> Subject:
    """Every event delivered after its causes."""
    events = arrivals()

    def work(_: int) -> None:
        held: HoldBack[int] = HoldBack(len(events))
        delivered = sum(len(held.offer(event_id, causes, 0)) for event_id, causes in events)
        assert delivered == len(events)

    return lambda _: _per(timed(work, 1), len(events))


def _id(agent: int, seq: int) -> EventId:
    return EventId("run-1", f"agent-{agent}", 1, seq)


def _per(figures: Figures, events: int) -> Figures:
    return {name: value / events for name, value in figures.items()}
