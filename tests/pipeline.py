"""The whole way from recorders to the catalogue, for tests that harm it, and the oracle that says what must come out.

    pipeline = Pipeline(fresh_backend(tmp_path), tmp_path)
    with pipeline.processors():
        pipeline.record(5)                  # some runs, recorded and shipped
    ...
        pipeline.check()                    # whatever happened

Oracle: producers keep a ledger of each event as they hand it to the disk: id and SHA-256 of its bytes. Afterwards each of
them is in the archive, byte for byte; the archive holds nothing that no spool holds; every chain and body verifies; the
catalogue has each run once and equals the fold of the archive; nobody's lag is above zero.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic
from typing import Final

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

import archive_topology
import fold_topology
from kafka_support import read_all
from tachograph.core.boundary import Sources
from tachograph.core.causality import EventId
from tachograph.core.errors import StoreUnavailable
from tachograph.core.ports import Stored
from tachograph.producers import Recorder, tool
from tachograph.schemas import decode_meta
from tachograph.stores import Home, LocalLog, SpoolWriter, rebuild, verify_home
from tachograph.stores.backend import Backend, KafkaSettings
from tachograph.stores.kafka import TOPICS, Record, ensure_topics, topic_name
from tachograph.stores.redis import RedisCatalogue
from tachograph.stream_processors.archive import run_archive
from tachograph.stream_processors.fold import run_fold
from tachograph.stream_processors.insights import run_insights

ROLES: Final = ("archive", "fold", "insights")
SECONDS_MAX: Final = 120.0
"""What takes longer, on a machine that does much else, hangs."""

NOTHING: Final[Mapping[str, set[str]]] = {}

Digests = dict[EventId, str]
"""SHA-256 of each event's bytes, in hexadecimal."""


@tool(effect="write", idempotency_key=lambda to: f"mail:{to}")
def send_mail(to: str) -> str:
    """An effect."""
    return f"sent to {to}"


def work(recorder: Recorder, name: str, *, calls: int = 6, large: int = 0) -> str:
    """A run of two agents that call tools and have an effect each; its id. `large`: bytes of a body."""
    with recorder.run(name) as run:
        for agent_id in ("one", "two"):
            with run.agent(agent_id) as agent:
                for index in range(calls):
                    agent.call(len, f"{name} {index} " + _text(f"{name}.{agent_id}.{index}", large))
                agent.call(send_mail, f"{name}-{agent_id}")
    assert recorder.latest_run_id is not None
    return recorder.latest_run_id


def drained(recorder: Recorder, seconds: float = 60) -> bool:
    """Whether all that was recorded is with the brokers."""
    assert recorder.shipper is not None
    return recorder.shipper.drain(seconds).is_complete


def _text(seed: str, size: int) -> str:
    """Text that does not repeat itself."""
    return "".join(hashlib.sha256(f"{seed}.{at}".encode()).hexdigest() for at in range(0, size, 64))[:size]


@contextmanager
def ledgered(path: Path) -> Generator[None]:
    """Whatever this process hands to the disk as events is noted in a file, apart from everything that is tested."""
    append = SpoolWriter.append
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def noting(self: SpoolWriter, payloads: Sequence[bytes]) -> None:
        append(self, payloads)
        lines = [f"{event_id_of(payload)} {digest_of(payload)}\n" for payload in payloads]
        os.write(descriptor, "".join(lines).encode())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SpoolWriter, "append", noting)
        try:
            yield
        finally:
            os.close(descriptor)


def event_id_of(payload: bytes) -> EventId:
    """Whose event it is."""
    meta = decode_meta(payload)
    return EventId(meta.run_id, meta.agent_id, meta.incarnation, meta.seq)


def digest_of(payload: bytes) -> str:
    """SHA-256 of an event's bytes."""
    return hashlib.sha256(payload).hexdigest()


@dataclass(slots=True)
class Pipeline:
    """Servers with topics of a test's own, homes that ship to them, and processors between."""

    backend: Backend
    directory: Path
    homes: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    """Name of its directory, and tenant."""
    restarts: Counter[str] = field(default_factory=Counter[str])
    """How often a processor ended by itself and was started again, as a supervisor does."""

    def __post_init__(self) -> None:
        self.ensure_topics()

    @property
    def kafka(self) -> KafkaSettings:
        """Of the cluster."""
        assert self.backend.kafka is not None
        return self.backend.kafka

    @property
    def events(self) -> str:
        """The topic of events."""
        return topic_name(self.kafka, "events")

    def ensure_topics(self) -> None:
        """Make the topics, three partitions each."""
        ensure_topics(self.kafka, [replace(plan, partitions=3) for plan in TOPICS])

    def environment(self) -> Mapping[str, str]:
        """As a deployment sets it."""
        kafka, s3 = self.kafka, self.backend.s3
        assert s3 is not None
        assert self.backend.redis is not None
        properties = self.directory / "kafka.properties"
        properties.write_text("".join(f"{name}={value}\n" for name, value in kafka.properties.items()))
        registry = {} if self.backend.registry is None else {"TACHO_REGISTRY_URL": self.backend.registry.url}
        return registry | {
            "TACHO_KAFKA_BOOTSTRAP": kafka.bootstrap,
            "TACHO_KAFKA_CONFIG": str(properties),
            "TACHO_TOPIC_PREFIX": kafka.topic_prefix,
            "TACHO_S3_URL": s3.url,
            "TACHO_S3_BUCKET": s3.bucket,
            "TACHO_S3_ACCESS_KEY": s3.access_key,
            "TACHO_S3_SECRET_KEY": s3.secret_key.text,
            "TACHO_REDIS_URL": self.backend.redis.url.text,
            "TACHO_DIGEST_KEY_FILE": str(self.backend.digest_key_file),
        }

    def home(self, name: str = "home", tenant: str = "default") -> Path:
        """A recorder's directory, known to the oracle from now on."""
        self.homes.add((name, tenant))
        return self.directory / name

    @property
    def ledger(self) -> Path:
        """Of all producers."""
        return self.directory / "ledger"

    @contextmanager
    def recorder(
        self, name: str = "home", tenant: str = "default", sources: Sources | None = None
    ) -> Generator[Recorder]:
        """A recorder that ships; closed with the block, and what it could not ship stays."""
        with ledgered(self.ledger), pytest.MonkeyPatch.context() as patch:
            patch.setenv("TACHO_DIGEST_KEY_FILE", str(self.backend.digest_key_file))
            with Recorder(self.home(name, tenant), tenant=tenant, ship=self.backend, sources=sources) as recorder:
                yield recorder

    @contextmanager
    def processors(self, *roles: str, name: str = "first") -> Generator[None]:
        """Processors in threads, started again where they give up; at the end they drain."""
        stop = threading.Event()
        raised: list[Exception] = []

        def supervise(role: str) -> None:
            while not stop.is_set():
                try:
                    run_role(role, self.directory / name, self.backend, stop)
                except StoreUnavailable:
                    self.restarts[role] += 1
                    stop.wait(0.5)
                except Exception as error:
                    raised.append(error)
                    return

        threads = [threading.Thread(target=supervise, args=(role,)) for role in roles or ROLES]
        with ExitStack() as end:
            end.callback(stop.set)
            for thread in threads:
                thread.start()
            try:
                yield
            except AssertionError as error:
                raise (
                    ExceptionGroup("processors ended by themselves", [error, *raised]) if raised else error
                ) from None
        for thread in threads:
            thread.join(SECONDS_MAX)
            assert not thread.is_alive(), "a processor does not end"
        if raised:
            raise raised[0]

    def lags(self) -> dict[str, int]:
        """How many records each group is behind; -1 where nobody can say yet."""
        topics = {"archive": "events", "fold": "events", "insights": "findings"}
        client = AdminClient({"bootstrap.servers": self.kafka.bootstrap})
        return {role: self._lag(client, group_of(role, self.backend), topic) for role, topic in topics.items()}

    def _lag(self, client: AdminClient, group: str, topic: str) -> int:
        places = [TopicPartition(topic_name(self.kafka, topic), number) for number in range(3)]
        try:
            ends = client.list_offsets({place: OffsetSpec.latest() for place in places}, request_timeout=10)
            asked = client.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group, places)])
            committed = {place.partition: place.offset for place in asked[group].result(10).topic_partitions}
            found = {place.partition: done.result(10).offset for place, done in ends.items()}
        except KafkaException:
            return -1
        return sum(end - max(0, committed[number]) for number, end in found.items())

    def settle(self, seconds: float = SECONDS_MAX) -> None:
        """Wait until nobody is behind."""
        lags: dict[str, int] = {}

        def settled() -> bool:
            lags.update(self.lags())
            return not any(lags.values())

        _until(settled, lambda: f"behind: {lags}; {dict(self.restarts)} ended by themselves", seconds)

    def check(self, *, extra: Iterable[bytes] = (), damaged: Mapping[str, set[str]] = NOTHING) -> None:
        """Hold the oracle, while the processors run.

        Args:
            extra: events that no recorder wrote, and that count.
            damaged: runs of them, each with the kinds of damage that a verification must name.
        """
        self.settle()
        ledger, spools = read_ledger(self.ledger), self.spools()
        assert {event_id: spools.get(event_id) for event_id in ledger} == ledger, "a spool has not what it was given"
        made = set(map(digest_of, extra))
        archived: set[str] = set()
        named: dict[str, set[str]] = {}
        for tenant in sorted({tenant for _, tenant in self.homes}):
            home = self.far_home(tenant, f"far-{tenant}")
            archived |= self._check_archive(home, tenant)
            self._check_catalogue(home, tenant)
            for finding in verify_home(home).findings:
                if finding.severity == "damage":
                    run_id = (finding.event_id or finding.path).partition("/")[0]
                    named.setdefault(run_id, set()).add(finding.kind)
        assert not (lost := (set(spools.values()) | made) - archived), f"{len(lost)} events are not in the archive"
        assert not (more := archived - set(spools.values()) - made), f"{len(more)} events came from nowhere"
        assert named == damaged, named

    def spools(self) -> Digests:
        """What the recorders' homes hold."""
        return {
            event_id_of(stored.payload): digest_of(stored.payload)
            for name, _ in self.homes
            for stored in _stored(LocalLog(self.directory / name / "log"))
        }

    def far_home(self, tenant: str = "default", name: str = "far") -> Home:
        """A home that has nothing of its own."""
        return Home.open(self.directory / name, create=True, backend=self.backend, tenant=tenant)

    def quarantine(self) -> list[Record]:
        """Records that were set aside."""
        return read_all(self.kafka, topic_name(self.kafka, "quarantine"))

    def _check_archive(self, home: Home, tenant: str) -> set[str]:
        assert home.archive is not None
        payloads = [stored.payload for run_id in home.archive.run_ids() for stored in home.archive.read_run(run_id)]
        twice = [digest for digest, count in Counter(map(digest_of, payloads)).items() if count > 1]
        assert not twice, f"{len(twice)} events are told twice"
        assert {decode_meta(payload).tenant for payload in payloads} <= {tenant}
        return set(map(digest_of, payloads))

    def _check_catalogue(self, home: Home, tenant: str) -> None:
        differences: list[str] = []

        def is_same() -> bool:
            differences[:] = rebuild(home, check=True).differences
            return not differences

        _until(is_same, lambda: f"the catalogue is not the fold of the archive: {differences[:5]}")
        assert self.backend.redis is not None
        catalogue = RedisCatalogue(self.backend.redis, tenant)
        told = Counter(row.run_id for row in catalogue.runs())
        effects = Counter(row.effect_id for row in catalogue.effects())
        catalogue.close()
        assert home.archive is not None
        assert told == Counter(home.archive.run_ids())
        assert set(effects.values()) <= {1}


def _stored(log: LocalLog) -> Iterable[Stored]:
    return (stored for run_id in log.run_ids() for stored in log.read_run(run_id))


def read_ledger(path: Path) -> Digests:
    """What producers noted; a line that a kill cut off is none."""
    rows = [line.rpartition(" ") for line in path.read_text().splitlines()]
    return {EventId.parse(text): digest for text, _, digest in rows if len(digest) == 64}


def group_of(role: str, backend: Backend) -> str:
    """The consumer group of a processor."""
    assert backend.kafka is not None
    return topic_name(backend.kafka, role)


def run_role(role: str, directory: Path, backend: Backend, stop: threading.Event) -> None:
    """A processor, until it is to stop; it looks after everything more often than one in production does."""
    if role == "archive":
        run_archive(directory / role, backend, stop, replace(archive_topology.QUICK, group=None, fault_seconds=60))
    elif role == "fold":
        run_fold(directory / role, backend, stop, replace(fold_topology.QUICK, group=None, fault_seconds=60))
    else:
        run_insights(backend, stop, stall_seconds=20)


def _until(is_so: Callable[[], bool], reason: Callable[[], str], seconds: float = SECONDS_MAX) -> None:
    end = monotonic() + seconds
    while not is_so():
        assert monotonic() < end, reason()
        threading.Event().wait(0.2)
