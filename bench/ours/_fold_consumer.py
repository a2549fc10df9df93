"""The fold from a broker on, beside a plain client that decodes the same records and updates a dict."""

from __future__ import annotations

import io
import os
import threading
from itertools import count as counting
from typing import Final

import fastavro
from confluent_kafka import Consumer, Producer

from bench._measure import Figures, Subject, fresh_directory, timed
from bench._servers import kafka, s3
from bench.ours._fold import payloads
from bench.ours._verify import _schema
from tachograph.schemas import decode_meta
from tachograph.stores.backend import KafkaSettings
from tachograph.stores.kafka import EventConsumer, TopicPlan, topic_name
from tachograph.stores.s3 import Bucket
from tachograph.stream_processors.fold import FoldSettings
from tachograph.stream_processors.fold._books import Books
from tachograph.stream_processors.fold._metrics import FoldMetrics
from tachograph.stream_processors.fold._outlet import FoldOutlet
from tachograph.stream_processors.fold._past import StoredPast
from tachograph.stream_processors.fold._patience import Patience
from tachograph.stream_processors.fold._processor import FoldProcessor

_PLANS: Final = (
    *(TopicPlan(name, 3, 24) for name in ("events", "quarantine", "findings")),
    TopicPlan("snapshots", 3, None),
)
_BATCH: Final = 5_000
_RUNS: Final = 12
"""Copies of the desk's run, each under its own id."""


def fold() -> Subject:
    """CPU of an event from the broker's log to the commit behind its findings and snapshots."""
    settings = kafka("fold-ours.", *_PLANS)
    events = _published(settings)
    rounds = counting()

    def run(_: int) -> Figures:
        name = f"bench-{os.getpid()}-{next(rounds)}"
        outlet = FoldOutlet(settings)
        bucket, chosen, metrics = Bucket(s3(name)), FoldSettings(group=name), FoldMetrics()
        patience = Patience(60, 1, threading.Event(), metrics.faults.inc)
        past = StoredPast(bucket, fresh_directory(), patience, 5)
        processor = FoldProcessor(
            past, Books(bucket), outlet, lambda value: value, settings=chosen, metrics=metrics, patience=patience,
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
        processor.close()
        outlet.close()
        return figures

    return run


def plain() -> Subject:
    """CPU of an event that is consumed, decoded by fastavro and counted in a dict; committed at the end."""
    settings = kafka("fold-theirs.", *_PLANS)
    events = _published(settings)
    schemas = {payload[:5]: _schema(payload) for payload in payloads()}
    rounds = counting()

    def run(_: int) -> Figures:
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
            state: dict[tuple[str, str], int] = {}
            taken, batch = 0, first
            while taken < events:
                for message in batch:
                    value = message.value()
                    assert isinstance(value, bytes)
                    event = fastavro.schemaless_reader(io.BytesIO(value[5:]), schemas[value[:5]], None)
                    assert isinstance(event, dict)
                    meta = event["meta"]
                    assert isinstance(meta, dict)
                    state[meta["run_id"], meta["agent_id"]] = meta["seq"]
                taken += len(batch)
                batch = consumer.consume(_BATCH, 0.05) if taken < events else []
            consumer.commit(asynchronous=False)

        figures = timed(work, events)
        consumer.close()
        return figures

    return run


def _published(settings: KafkaSettings) -> int:
    """How many events were sent."""
    one = payloads()
    run_id = decode_meta(one[0]).run_id
    producer = Producer({"bootstrap.servers": settings.bootstrap, "compression.type": "lz4", "linger.ms": 5})
    for number in range(_RUNS):
        name = f"{number:0{len(run_id)}}"
        for payload in one:
            value = payload.replace(run_id.encode(), name.encode())
            producer.produce(topic_name(settings, "events"), value, name.encode())
            producer.poll(0)
    producer.flush()
    return len(one) * _RUNS
