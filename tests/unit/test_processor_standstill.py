"""A consumer that brings nothing though its partitions hold records: the process ends, and whoever starts it again reads on."""

from __future__ import annotations

from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest

from tachograph.core.errors import StoreUnavailable
from tachograph.stores.backend import KafkaSettings
from tachograph.stores.kafka import TopicPartition
from tachograph.stream_processors import _loop
from tachograph.stream_processors._loop import Loop, Pace

KAFKA = KafkaSettings("127.0.0.1:1")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds, set by the test."""
    now = [1_000.0]
    monkeypatch.setattr(_loop, "monotonic_s", lambda: now[0])
    return now


def loop_with(stuck: tuple[TopicPartition, ...]) -> Loop:
    """One whose consumer says so of its partitions."""
    processor: Any = None
    loop = Loop("read", processor, Pace("group", 1, 0.1, 300), lambda _: None, Event())
    consumer: Any = SimpleNamespace(statistics=lambda: SimpleNamespace(stuck=lambda _: stuck))
    loop._consumer = consumer
    return loop


def test_a_standstill_ends_it(clock: list[float]) -> None:
    """After a minute without a record, naming the partition."""
    loop = loop_with((TopicPartition("events", 1),))
    loop._require_moving(KAFKA, busy=True)
    clock[0] += 59
    loop._require_moving(KAFKA, busy=False)
    clock[0] += 1
    with pytest.raises(StoreUnavailable, match="events/1 did not move for 60 s"):
        loop._require_moving(KAFKA, busy=False)


def test_nothing_to_read_is_no_standstill(clock: list[float]) -> None:
    """Nor is a consumer that was busy meanwhile."""
    idle, busy = loop_with(()), loop_with((TopicPartition("events", 1),))
    for _ in range(10):
        clock[0] += 50
        idle._require_moving(KAFKA, busy=False)
        busy._require_moving(KAFKA, busy=True)
