"""The archive on real servers: events go into Kafka, an independent ledger says what must come out in S3."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from services import fresh_backend
from tachograph.core.findings import Finding, finding_of
from tachograph.schemas import HASH, decode_meta
from tachograph.stores.archive import ArchiveLog
from tachograph.stores.backend import Backend, KafkaSettings
from tachograph.stores.kafka import EventConsumer, EventProducer, Failed, Record, TopicPlan, ensure_topics, topic_name
from tachograph.stores.registry import SchemaRegistry
from tachograph.stores.s3 import Bucket
from tachograph.stream_processors import StatusAddress
from tachograph.stream_processors.archive import ArchiveSettings, run_archive

PARTITIONS = 3
QUICK = ArchiveSettings(
    group="archive", segment_bytes=20_000, segment_seconds=0.5, poll_seconds=0.1, fault_seconds=20, pause_seconds=0.1
)


@dataclass(frozen=True, slots=True)
class Topology:
    """Servers of a test, with its topics."""

    backend: Backend
    directory: Path

    @property
    def kafka(self) -> KafkaSettings:
        assert self.backend.kafka is not None
        return self.backend.kafka

    @property
    def bucket(self) -> Bucket:
        assert self.backend.s3 is not None
        return Bucket(self.backend.s3)

    @property
    def events(self) -> str:
        return topic_name(self.kafka, "events")

    def registry(self) -> SchemaRegistry:
        """With every schema registered."""
        registry = SchemaRegistry(self.backend.registry, self.directory / "ids.json", topic=self.events)
        registry.register_all()
        return registry

    def log(self, tenant: str = "default") -> ArchiveLog:
        return ArchiveLog(self.bucket, tenant, ":memory:")


def topology(directory: Path, *, services: Sequence[str] = ("kafka", "s3"), backend: Backend | None = None) -> Topology:
    """Servers with empty topics and an empty bucket."""
    found = fresh_backend(directory, *services) if backend is None else backend
    assert found.kafka is not None
    plans = [TopicPlan(name, PARTITIONS, 24) for name in ("events", "quarantine", "findings")]
    ensure_topics(found.kafka, plans)
    return Topology(found, directory)


def publish(topology: Topology, payloads: Iterable[bytes]) -> None:
    """Produce events as the shipper does."""
    with topology.registry() as registry:
        send(topology, [_outgoing(registry, payload) for payload in payloads])


Outgoing = tuple[bytes | None, bytes | None, list[tuple[str, bytes]], int]


def _outgoing(registry: SchemaRegistry, payload: bytes) -> Outgoing:
    meta = decode_meta(payload)
    headers = [("tacho-tenant", meta.tenant.encode()), ("tacho-hash", payload[HASH].hex().encode())]
    # Brokers refuse times that lie in the future, as those of made up histories do.
    return meta.run_id.encode(), registry.to_wire(payload), headers, 0


def send(topology: Topology, records: Iterable[Outgoing]) -> None:
    """Produce records to the events topic."""
    failed: list[Failed] = []
    with EventProducer(topology.kafka, failed.append) as producer:
        for record in records:
            producer.produce(topology.events, *record)
        assert producer.flush(30) == 0
    assert failed == []


@contextmanager
def archiving(
    topology: Topology, settings: ArchiveSettings = QUICK, status: StatusAddress | None = None
) -> Generator[threading.Thread]:
    """An archive in a thread; at the end it drains, and what it raised is raised."""
    stop = threading.Event()
    raised: list[BaseException] = []

    def run() -> None:
        try:
            run_archive(topology.directory / "archive", topology.backend, stop, settings, status)
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield thread
    finally:
        stop.set()
        thread.join(60)
    assert not thread.is_alive()
    if raised:
        raise raised[0]


def wait_until(done: Callable[[], bool], seconds: float = 60) -> None:
    """Look every tenth of a second."""
    for _ in range(int(seconds * 10)):
        if done():
            return
        threading.Event().wait(0.1)
    raise AssertionError(f"it did not come true within {seconds} s")


def archived(topology: Topology, tenant: str = "default") -> Counter[bytes]:
    """Every event that can be read back, by its payload."""
    log = topology.log(tenant)
    return Counter(stored.payload for run_id in log.run_ids() for stored in log.read_run(run_id))


def committed(topology: Topology, group: str | None = QUICK.group) -> int:
    """How many records of the events topic the group has committed."""
    client = Consumer({"bootstrap.servers": topology.kafka.bootstrap, "group.id": group})
    try:
        places = [TopicPartition(topology.events, number) for number in range(PARTITIONS)]
        return sum(max(0, place.offset) for place in _answered(lambda: client.committed(places, timeout=20)))
    finally:
        client.close()


def _answered(ask: Callable[[], list[TopicPartition]]) -> list[TopicPartition]:
    """A broker that has just started looks for its groups first."""
    for _ in range(100):
        try:
            return ask()
        except KafkaException as error:
            if error.args[0].code() not in {KafkaError.NOT_COORDINATOR, KafkaError.COORDINATOR_LOAD_IN_PROGRESS}:
                raise
            threading.Event().wait(0.1)
    return ask()


def records(topology: Topology, name: str, count: int) -> list[Record]:
    """The first records of a topic."""
    found: list[Record] = []
    with EventConsumer(topology.kafka, f"test-{name}", [topic_name(topology.kafka, name)]) as consumer:
        for _ in range(300):
            found += consumer.poll(1000, 0.2)
            if len(found) >= count:
                break
    assert len(found) >= count, f"{len(found)} of {count} records in {name}"
    return found


def findings(topology: Topology, count: int) -> list[Finding]:
    """The first findings."""
    return [finding_of(record.value or b"") for record in records(topology, "findings", count)]
