"""What tests of shipping share: fleets that write spools, an independent ledger of what they wrote, and the oracle.

The oracle: after whatever happened, every event of the ledger is in the topic or in a spool's list of stuck events, byte
for byte; a reader that drops what it has meets each stream in order; and every body is in the object store.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from kafka_support import read_all
from services import fresh_backend
from tachograph.core.causality import EventId
from tachograph.core.ports import ObjectStore
from tachograph.producers import Recorder
from tachograph.schemas import decode_meta
from tachograph.stores import LocalLog
from tachograph.stores.backend import Backend, KafkaSettings
from tachograph.stores.kafka import TopicPlan, ensure_topics, topic_name
from tachograph.stores.registry import SchemaRegistry
from tachograph.stores.shipping import keys_of, stuck_of

EVENTS: Final = TopicPlan("events", 3, 24, 17 * 1024 * 1024)

Ledger = dict[EventId, bytes]
"""What was recorded: SHA-256 of each event's bytes."""


def backend_at(directory: Path, *services: str) -> Backend:
    """Servers of the test run, with the topic of events made."""
    backend = fresh_backend(directory, *services)
    assert backend.kafka is not None
    ensure_topics(backend.kafka, [EVENTS])
    return backend


def kafka_of(backend: Backend) -> KafkaSettings:
    """The backend's Kafka."""
    assert backend.kafka is not None
    return backend.kafka


def events_topic(backend: Backend) -> str:
    """The topic of events."""
    return topic_name(kafka_of(backend), "events")


def record(home: Path, runs: int, calls: int, *, large: int = 0, ship: Backend | None = None) -> Recorder:
    """Record runs of two agents each; `large`: bytes of an argument that is too large for an event."""
    recorder = Recorder(home, ship=ship)
    for number in range(runs):
        with recorder.run(f"run {number}") as run:
            for agent_id in ("one", "two"):
                with run.agent(agent_id) as agent:
                    for index in range(calls):
                        agent.call(_echo, "x" * 200, number, index, _text(number, index, large))
    recorder.flush()
    return recorder


def _echo(*values: object) -> int:
    return len(values)


def _text(number: int, index: int, size: int) -> str:
    """Text that does not repeat itself."""
    blocks = (hashlib.sha256(f"{number}.{index}.{at}".encode()).hexdigest() for at in range(0, size, 64))
    return "".join(blocks)[:size]


def ledger_of(home: Path) -> Ledger:
    """What a home's spools hold, as the log reads them."""
    log = LocalLog(home / "log")
    found: Ledger = {}
    for run_id in log.run_ids():
        for stored in log.read_run(run_id):
            found[_event_id(stored.payload)] = hashlib.sha256(stored.payload).digest()
    return found


def check(home: Path, backend: Backend, ledger: Ledger, *, duplicates_max: int = 0) -> None:
    """Hold the oracle against topic and spools."""
    payloads = shipped(backend, home)
    seen: Ledger = {}
    streams: dict[tuple[str, str, int], int] = {}
    for payload in payloads:
        event_id, digest = _event_id(payload), hashlib.sha256(payload).digest()
        if event_id in seen:
            assert seen[event_id] == digest, f"{event_id} is there twice, with different bytes"
            continue
        seen[event_id] = digest
        stream = event_id[:3]
        assert event_id.seq > streams.get(stream, 0), f"{event_id} comes behind {streams[stream]}"
        streams[stream] = event_id.seq
    stuck = {each.what for spool in LocalLog(home / "log").spools() for each in stuck_of(spool.path)}
    lost = [event_id for event_id in ledger if event_id not in seen and str(event_id) not in stuck]
    assert not lost, f"{len(lost)} of {len(ledger)} events are lost, as {lost[0]}"
    assert {key: seen[key] for key in seen if key in ledger} == {key: ledger[key] for key in seen if key in ledger}
    assert len(payloads) - len(seen) <= duplicates_max, f"{len(payloads) - len(seen)} duplicates"


def shipped(backend: Backend, directory: Path) -> list[bytes]:
    """The payloads in the topic, as a reader apart from the shipper maps them back."""
    topic = events_topic(backend)
    with SchemaRegistry(backend.registry, directory / "reader.json", topic=topic) as registry:
        return [registry.from_wire(record.value or b"") for record in read_all(kafka_of(backend), topic)]


def missing_bodies(payloads: Sequence[bytes], near: ObjectStore, far: ObjectStore) -> list[bytes]:
    """Keys of bodies, groups opened, that the far store does not have as the near one does."""
    keys = {key for payload in payloads for key in keys_of(payload, near)}
    return [key for key in keys if far.get(key) is None or far.get(key) != near.get(key)]


def _event_id(payload: bytes) -> EventId:
    meta = decode_meta(payload)
    return EventId(meta.run_id, meta.agent_id, meta.incarnation, meta.seq)
