"""Findings for the insights application, and what becomes of them in Kafka and Redis."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from recorded_world import World
from services import fresh_backend
from tachograph.core.findings import Finding, findings_of
from tachograph.core.state import empty, fold
from tachograph.schemas import decode
from tachograph.stores import Home
from tachograph.stores.backend import Backend
from tachograph.stores.kafka import TOPICS, EventConsumer, EventProducer, Record, ensure_topics, topic_name
from tachograph.stores.redis import RedisCatalogue
from tachograph.stream_processors.insights import run_insights

PATIENCE_SECONDS = 60.0
"""How long a server under load may take; no test waits that long when all is well."""


def backend_with_topics(directory: Path) -> Backend:
    """A backend of the test's own, with topics of few partitions."""
    backend = fresh_backend(directory, "kafka", "redis")
    assert backend.kafka is not None
    ensure_topics(backend.kafka, [replace(plan, partitions=2) for plan in TOPICS])
    return backend


def some_findings(directory: Path, seed: int, steps: int = 300) -> list[Finding]:
    """What a fold finds in the runs of a random world, on the way and at the end."""
    rng = random.Random(seed)
    home = Home.open(directory / f"home-{seed}", create=True)
    world = World(home)
    for _ in range(steps):
        action = rng.choice(["open", "run", "run", "call", "effect", "effect", "move", "back", "end", "close", "crash"])
        world.take(action, rng.randrange(4), rng.randrange(6))
    world.close()
    found: list[Finding] = []
    for run_id in home.log.run_ids():
        state = empty(run_id)
        for stored in home.log.read_run(run_id):
            event = decode(stored.payload)
            fold(state, event)
            if rng.random() < 0.1:
                found += findings_of(state, over=False)
        found += findings_of(state, over=True)
    rng.shuffle(found)
    return found


def send(backend: Backend, topic: str, values: Sequence[tuple[str, bytes]]) -> None:
    """Write records and wait until they are there."""
    assert backend.kafka is not None
    with EventProducer(backend.kafka, _refused) as producer:
        for key, value in values:
            producer.produce(topic_name(backend.kafka, topic), key.encode(), value)
        assert producer.flush(PATIENCE_SECONDS) == 0


def _refused(failed: object) -> None:
    raise AssertionError(failed)


def read_all(backend: Backend, topic: str) -> list[Record]:
    """Every record of a topic."""
    assert backend.kafka is not None
    found: list[Record] = []
    name = topic_name(backend.kafka, topic)
    with EventConsumer(backend.kafka, f"{name}-reader", [name]) as consumer:
        until = time.monotonic() + PATIENCE_SECONDS
        while not (lags := consumer.lag()) or any(lags.values()):
            assert time.monotonic() < until, lags
            found += consumer.poll(1000, 0.2)
    return found


class Insights:
    """The application in a thread of its own."""

    def __init__(self, backend: Backend) -> None:
        self.stop = threading.Event()
        self.failure: BaseException | None = None
        self.thread = threading.Thread(target=self._work, args=(backend,))
        self.thread.start()

    def _work(self, backend: Backend) -> None:
        try:
            run_insights(backend, self.stop)
        except BaseException as error:
            self.failure = error

    def until(self, is_so: Callable[[], bool]) -> None:
        """Look again and again until it is so, or the application ended."""
        wait_until(lambda: not self.thread.is_alive() or is_so())
        assert self.thread.is_alive(), self.failure


def wait_until(is_so: Callable[[], bool]) -> None:
    """Look again and again until it is so."""
    until = time.monotonic() + PATIENCE_SECONDS
    while not is_so():
        assert time.monotonic() < until, "it never came to that"
        threading.Event().wait(0.1)


@contextmanager
def running(backend: Backend) -> Generator[Insights]:
    """The insights application; what goes wrong in it is raised at the end."""
    insights = Insights(backend)
    try:
        yield insights
    finally:
        insights.stop.set()
        insights.thread.join(PATIENCE_SECONDS)
    assert not insights.thread.is_alive()
    if insights.failure is not None:
        raise insights.failure


@contextmanager
def catalogue_of(backend: Backend) -> Iterator[RedisCatalogue]:
    """The catalogue of the tenant that the worlds record for."""
    assert backend.redis is not None
    catalogue = RedisCatalogue(backend.redis, "default")
    yield catalogue
    catalogue.close()


def expected_content(backend: Backend, findings: Sequence[Finding]) -> dict[str, object]:
    """What a catalogue holds to which the findings were applied once."""
    assert backend.redis is not None
    catalogue = RedisCatalogue(backend.redis, "default", prefix="expected:")
    catalogue.clear()
    catalogue.apply(findings)
    content = catalogue.content()
    catalogue.clear()
    catalogue.close()
    return content
