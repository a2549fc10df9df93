"""Shipping: from a spool to a broker's acknowledgement, beside a plain client that sends the same bytes from memory."""

from __future__ import annotations

from itertools import count as counting
from pathlib import Path
from typing import Final

from confluent_kafka import Producer

from bench._measure import Figures, Subject, fresh_directory, timed
from bench._payload import pairs
from bench._servers import kafka
from tachograph.core.redaction import NO_REDACTION
from tachograph.producers import Recorder
from tachograph.producers.shipper import ship as ship_home
from tachograph.stores import Home, LocalLog
from tachograph.stores.backend import Backend
from tachograph.stores.kafka import TopicPlan, topic_name

_PLAN: Final = TopicPlan("events", 12, 1, 17 * 1024 * 1024)
_RUNS: Final = 24
_PROPERTIES: Final = {
    "acks": "all",
    "enable.idempotence": True,
    "max.in.flight": 1,
    "linger.ms": 5,
    "compression.type": "lz4",
    "partitioner": "murmur2_random",
}
"""What the shipper's own client is set to."""


def ship() -> Subject:
    """Wall time of an event from its spool to its acknowledgement, connecting included."""
    backend = Backend(kafka=kafka("ours.", _PLAN))
    homes = counting()
    recorded: list[Path] = []

    def run(count: int) -> Figures:
        home = _copy(_recorded(recorded, count), next(homes))
        shipped = 0

        def work(_count: int) -> None:
            nonlocal shipped
            shipped = ship_home(home, backend, lambda _done, _all, _what: None).events

        figures = timed(work, count)
        assert shipped >= count
        return figures

    return run


def plain() -> Subject:
    """Wall time of an event from memory to its acknowledgement, by a client that is connected already."""
    return _plain(with_all=False)


def plain_with_headers() -> Subject:
    """The same with headers and time, as the shipper sends them."""
    return _plain(with_all=True)


def _plain(*, with_all: bool) -> Subject:
    settings = kafka("theirs.", _PLAN)
    producer = Producer({**_PROPERTIES, "bootstrap.servers": settings.bootstrap})
    producer.list_topics(timeout=10)
    topic = topic_name(settings, "events")
    recorded: list[Path] = []
    rows: list[tuple[bytes, bytes]] = []

    def run(count: int) -> Figures:
        if not rows:
            log = LocalLog(_recorded(recorded, count) / "log")
            rows.extend((run_id.encode(), each.payload) for run_id in log.run_ids() for each in log.read_run(run_id))

        def work(_count: int) -> None:
            for key, value in rows[:count]:
                while True:
                    try:
                        if with_all:
                            headers: list[tuple[str, str | bytes | None]] = [
                                ("tacho-tenant", b"default"),
                                ("tacho-hash", value[5:37].hex()),
                            ]
                            producer.produce(topic, value, key, timestamp=1_800_000_000_000, headers=headers)
                        else:
                            producer.produce(topic, value, key)
                        break
                    except BufferError:
                        producer.poll(0.01)
            assert producer.flush() == 0

        return timed(work, count)

    return run


def _recorded(known: list[Path], count: int) -> Path:
    """A home with at least so many events; recorded once."""
    if not known:
        home = fresh_directory() / "home"
        taken = pairs(256)
        with Recorder(home, redaction=NO_REDACTION) as recorder:
            for number in range(_RUNS):
                with recorder.run(f"run {number}") as run, run.agent("worker") as agent:
                    for index in range(count // _RUNS // 2 + 1):
                        arguments, answer = taken[index % 256]
                        agent.call(_answer, {**arguments, "index": index}, answer)
        known.append(home)
    return known[0]


def _answer(_arguments: dict[str, object], answer: dict[str, object]) -> dict[str, object]:
    return answer


def _copy(home: Path, number: int) -> Path:
    """The same home, not shipped yet; its segments are links."""
    copied = home.with_name(f"home-{number}")
    Home.open(copied, create=True)
    for spool in (home / "log").iterdir():
        if not spool.is_dir():
            continue
        (copied / "log" / spool.name).mkdir()
        for name in ("lock", "bodies", *(each.name for each in spool.glob("*.seg"))):
            (copied / "log" / spool.name / name).hardlink_to(spool / name)
    return copied
