"""Archiving: from a broker into verified segments in S3, beside a plain client that writes the same records into a file."""

from __future__ import annotations

import os
import threading
from itertools import count as counting
from pathlib import Path
from typing import Final

from confluent_kafka import Consumer, Producer

from bench._measure import Figures, Subject, fresh_directory, timed
from bench._servers import kafka, s3
from bench.ours._ship import _recorded
from tachograph.schemas import write_container
from tachograph.stores import LocalLog
from tachograph.stores.backend import KafkaSettings
from tachograph.stores.kafka import EventConsumer, TopicPlan, topic_name
from tachograph.stores.s3 import Bucket
from tachograph.stream_processors._outlet import Outlet
from tachograph.stream_processors.archive._compactor import Compactor
from tachograph.stream_processors.archive._metrics import ArchiveMetrics
from tachograph.stream_processors.archive._processor import ArchiveProcessor
from tachograph.stream_processors.archive._screen import Screen
from tachograph.stream_processors.archive._settings import ArchiveSettings

_PLANS: Final = tuple(TopicPlan(name, 3, 24) for name in ("events", "quarantine", "findings"))
_BATCH: Final = 5_000
_CONTAINER_BYTES: Final = 16 << 20
"""Of the payloads in one file, as `ArchiveSettings.segment_bytes` has it."""


def archive() -> Subject:
    """Wall time of an event from the broker's log to the commit behind its verified segment."""
    settings = kafka("archive-ours.", *_PLANS)
    rounds = counting()
    published: list[int] = []

    def run(count: int) -> Figures:
        events = _published(settings, published, count)
        name = f"bench-{os.getpid()}-{next(rounds)}"
        outlet = Outlet(settings)
        bucket = Bucket(s3(name))
        processor = ArchiveProcessor(
            bucket, Screen(lambda value: value), outlet, compactor=Compactor(bucket, Path(), 0), settings=ArchiveSettings(group=name),
            metrics=ArchiveMetrics(), stop=threading.Event(),
        )  # fmt: skip
        with EventConsumer(settings, name, [topic_name(settings, "events")], on_revoked=processor.revoked) as consumer:
            processor.attach(consumer, lambda: None)
            first = consumer.poll(1, 30)

            def work(_count: int) -> None:
                taken, batch = 0, first
                while taken < events:
                    processor.take(batch)
                    taken += len(batch)
                    batch = consumer.poll(_BATCH, 0.5) if taken < events else ()
                processor.drain()

            figures = timed(work, events)
        outlet.close()
        return figures

    return run


def plain() -> Subject:
    """Wall time of an event from the broker's log into a container on the disk, by a plain client, unverified."""
    settings = kafka("archive-theirs.", *_PLANS)
    rounds = counting()
    published: list[int] = []

    def run(count: int) -> Figures:
        events = _published(settings, published, count)
        directory = fresh_directory()
        consumer = Consumer(
            {
                "bootstrap.servers": settings.bootstrap,
                "group.id": f"plain-{os.getpid()}-{next(rounds)}",
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
            }
        )
        consumer.subscribe([topic_name(settings, "events")])
        first = consumer.consume(1, 30)

        def work(_count: int) -> None:
            taken = held = files = 0
            waiting: list[bytes] = []
            batch = first
            while taken < events:
                for message in batch:
                    value = message.value()
                    assert isinstance(value, bytes)
                    waiting.append(value)
                    held += len(value)
                taken += len(batch)
                if held >= _CONTAINER_BYTES or taken == events:
                    with (directory / f"{files}.avro").open("wb") as file:
                        write_container(file, waiting, {})
                    waiting, held, files = [], 0, files + 1
                batch = consumer.consume(_BATCH, 0.05) if taken < events else []
            consumer.commit(asynchronous=False)

        figures = timed(work, events)
        consumer.close()
        return figures

    return run


def _published(settings: KafkaSettings, known: list[int], count: int) -> int:
    """How many events there are in the topic, at least `count`; sent once."""
    if not known:
        log = LocalLog(_recorded([], count) / "log")
        producer = Producer({"bootstrap.servers": settings.bootstrap, "compression.type": "lz4", "linger.ms": 5})
        for run_id in log.run_ids():
            for stored in log.read_run(run_id):
                producer.produce(topic_name(settings, "events"), stored.payload, run_id.encode())
                producer.poll(0)
            assert producer.flush() == 0
            known.append(sum(1 for _ in log.read_run(run_id)))
    return sum(known)
