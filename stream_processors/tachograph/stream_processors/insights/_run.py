"""The insights process: Faust's transport, the catalogues in Redis and the topics, put together."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from tachograph.core.errors import InvalidSetting, StoreUnavailable
from tachograph.stores.backend import Backend, KafkaSettings, RedisSettings
from tachograph.stores.kafka import GroupWatch, TopicMissing, topic_name
from tachograph.stores.redis import RedisCatalogue
from tachograph.stream_processors.insights._applier import Applier, InsightsStatistics
from tachograph.stream_processors.insights._faust import FaustTransport
from tachograph.stream_processors.insights._publish import Publisher
from tachograph.stream_processors.insights._stall import STALL_SECONDS, watch_group
from tachograph.stream_processors.insights._trends import Trends

GROUP: Final = "insights"
"""Of the consumers, behind the topics' prefix."""

_LOOK_SECONDS: Final = 0.2
"""How often the loop looks whether it is to stop."""


class Catalogues:
    """The tenants' catalogues in Redis, opened when they are first needed; the windows then learn what they hold."""

    def __init__(self, settings: RedisSettings, trends: Trends) -> None:
        self._settings = settings
        self._trends = trends
        self._open: dict[str, RedisCatalogue] = {}

    def __call__(self, tenant: str) -> RedisCatalogue:
        """A tenant's catalogue."""
        known = self._open.get(tenant)
        if known is None:
            known = RedisCatalogue(self._settings, tenant)
            for finding in known.run_findings():
                self._trends.add(finding)
            self._open[tenant] = known
        return known

    def close(self) -> None:
        """Let go of the connections."""
        for catalogue in self._open.values():
            catalogue.close()


def run_insights(
    backend: Backend,
    stop: threading.Event,
    *,
    report: Callable[[InsightsStatistics, Trends], None] | None = None,
    stall_seconds: float = STALL_SECONDS,
) -> InsightsStatistics:
    """Work until told to stop; what has come by then is applied and acknowledged.

    Args:
        backend: with Kafka and Redis.
        stop: set from another thread or a signal handler.
        report: is told the statistics, and shown the windows, about every second.
        stall_seconds: how long a partition with records may stand still.

    Raises:
        InvalidSetting: Kafka or Redis is not set.
        TopicMissing: there are no topics to read.
        StoreUnavailable: a server failed for longer than it is waited for, or a partition stands still; everything can
            be started again.
    """
    kafka, redis = _required(backend)
    _require_topics(kafka)
    trends = Trends()
    catalogues = Catalogues(redis, trends)
    publisher = Publisher(kafka)
    applier = Applier(catalogues, publisher.publish, trends)

    def idle() -> None:
        applier.publish_trends()
        if report is not None:
            report(applier.statistics(), trends)

    try:
        asyncio.run(_work(kafka, applier, idle, stop, stall_seconds))
        applier.publish_trends()
    finally:
        publisher.close()
        catalogues.close()
    return applier.statistics()


def _require_topics(kafka: KafkaSettings) -> None:
    """Faust waits for topics without a word; a cluster that does not answer is its concern."""
    try:
        with GroupWatch(kafka, topic_name(kafka, GROUP), _topics(kafka)) as watch:
            watch.behind()
    except TopicMissing:
        raise
    except StoreUnavailable:
        return


def _topics(kafka: KafkaSettings) -> list[str]:
    return [topic_name(kafka, name) for name in ("findings", "replays")]


async def _work(
    kafka: KafkaSettings, applier: Applier, idle: Callable[[], None], stop: threading.Event, stall_seconds: float
) -> None:
    group, topics = topic_name(kafka, GROUP), _topics(kafka)
    transport = FaustTransport(kafka, group, topics, applier.apply, idle)
    stopping = asyncio.Event()
    looking = asyncio.create_task(_look(stop, stopping))
    loop = asyncio.get_running_loop()

    def on_still(places: str) -> None:
        error = StoreUnavailable(f"kafka {kafka.bootstrap}", f"{places} did not move for {stall_seconds:.0f} s")
        with suppress(RuntimeError):  # the loop is over already
            loop.call_soon_threadsafe(transport.give_up, error)

    ended = watch_group(lambda: GroupWatch(kafka, group, topics), lambda: transport.waits, on_still, stall_seconds)
    try:
        await transport.run(stopping)
    finally:
        ended.set()
        looking.cancel()


async def _look(stop: threading.Event, stopping: asyncio.Event) -> None:
    while not await asyncio.to_thread(stop.wait, _LOOK_SECONDS):
        pass
    stopping.set()


def _required(backend: Backend) -> tuple[KafkaSettings, RedisSettings]:
    if backend.kafka is None:
        raise InvalidSetting("TACHO_KAFKA_BOOTSTRAP", None, "insights read findings from Kafka")
    if backend.redis is None:
        raise InvalidSetting("TACHO_REDIS_URL", None, "insights keep the catalogue in Redis")
    return backend.kafka, backend.redis
