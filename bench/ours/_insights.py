"""The Faust application on findings, from the broker on, beside a bare Faust loop that only counts the same records."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, Callable, Sequence
from itertools import count as counting
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Final

import faust
from confluent_kafka import Producer

from bench._measure import Figures, Subject
from bench._servers import kafka, redis
from bench.ours._catalogue import findings
from tachograph.core.findings import finding_bytes
from tachograph.stores.backend import KafkaSettings
from tachograph.stores.kafka import TopicPlan, topic_name
from tachograph.stores.redis import RedisCatalogue
from tachograph.stream_processors.insights._applier import Applier
from tachograph.stream_processors.insights._faust import FaustTransport
from tachograph.stream_processors.insights._publish import Publisher
from tachograph.stream_processors.insights._step import Arrived
from tachograph.stream_processors.insights._trends import Trends

_PLANS: Final = (
    *(TopicPlan(name, 1, 24) for name in ("findings", "replays", "quarantine")),
    *(TopicPlan(name, 1, None) for name in ("effects", "signatures")),
)


class _Laps:
    """Time from the first records on: what starting and joining the group take is not counted."""

    def __init__(self) -> None:
        self.records = self._first = 0
        self._cpu = self._wall = 0.0

    def add(self, records: int) -> None:
        """Records are done."""
        self.records += records
        if not self._first:
            self._first, self._cpu, self._wall = records, process_time(), perf_counter()

    def figures(self) -> Figures:
        """Of one record, microseconds."""
        count = self.records - self._first
        return {
            "cpu_us": (process_time() - self._cpu) / count * 1e6,
            "wall_us": (perf_counter() - self._wall) / count * 1e6,
        }


def insights() -> Subject:
    """Wall time of a finding: read, sorted, in the windows, in the catalogue, published and acknowledged."""
    rounds = counting()

    def run(count: int) -> Figures:
        settings = kafka(f"insights-ours-{next(rounds)}.", *_PLANS)
        _publish(settings, count)
        catalogue, publisher, trends = RedisCatalogue(redis(13), "default"), Publisher(settings), Trends()
        applier, laps = Applier(lambda _tenant: catalogue, publisher.publish, trends), _Laps()
        figures = asyncio.run(_worked(settings, applier, count, laps))
        publisher.close()
        catalogue.close()
        return figures

    return run


async def _worked(settings: KafkaSettings, applier: Applier, count: int, laps: _Laps) -> Figures:
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    figures: list[Figures] = []

    def apply(batch: Sequence[Arrived]) -> None:
        applier.apply(batch)
        laps.add(len(batch))
        if laps.records >= count and not figures:
            figures.append(laps.figures())
            loop.call_soon_threadsafe(stop.set)

    topics = [topic_name(settings, name) for name in ("findings", "replays")]
    await FaustTransport(settings, topic_name(settings, "insights"), topics, apply, applier.publish_trends).run(stop)
    return figures[0]


def bare() -> Subject:
    """Wall time of the same record in a Faust agent that counts."""
    rounds = counting()

    def run(count: int) -> Figures:
        settings = kafka(f"insights-theirs-{next(rounds)}.", *_PLANS)
        _publish(settings, count)
        return asyncio.run(_counted(settings, count))

    return run


async def _counted(settings: KafkaSettings, count: int) -> Figures:
    figures: asyncio.Future[Figures] = asyncio.get_running_loop().create_future()
    with TemporaryDirectory(prefix="bench-") as directory:
        app = faust.App(
            topic_name(settings, "bare"), broker=f"kafka://{settings.bootstrap}", store="memory://", web_enabled=False,
            datadir=directory, topic_allow_declare=False, topic_disable_leader=True,
        )  # fmt: skip
        channel = app.topic(topic_name(settings, "findings"), value_type=bytes, value_serializer="raw")
        app.agent(channel)(_counter(count, figures))
        await app.start()
        counted = await figures
        await app.stop()
    return counted


def _counter(count: int, figures: asyncio.Future[Figures]) -> Callable[[AsyncIterable[bytes]], object]:
    async def work(stream: AsyncIterable[bytes]) -> None:
        laps = _Laps()
        async for _ in stream:
            laps.add(1)
            if laps.records == count:
                figures.set_result(laps.figures())

    return work


def _publish(settings: KafkaSettings, count: int) -> None:
    producer = Producer({"bootstrap.servers": settings.bootstrap, "compression.type": "lz4", "linger.ms": 5})
    for finding in findings(count, 1):
        producer.produce(topic_name(settings, "findings"), finding_bytes(finding), finding.run_id.encode())
        producer.poll(0)
    assert producer.flush(60) == 0
