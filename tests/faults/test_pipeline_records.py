"""What no recorder of ours would send, and clocks and tenants that it has: all of it is kept, told, and spoils nothing else."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import pytest
from confluent_kafka import Producer

from archive_topology import Topology, publish, wait_until
from chains import Chain, Clock, small_fleet
from kafka_support import read_all
from pipeline import Pipeline, drained, work
from services import fresh_backend
from tachograph.core.canonical import Digester
from tachograph.core.errors import UnknownRun
from tachograph.producers._sources import SystemSources
from tachograph.stores.kafka import TOPICS, topic_name
from tachograph.stores.redis import RedisCatalogue
from tachograph.stores.s3 import Bucket

HOUR_US = 3_600_000_000
NOW_MS = 1_790_000_000_000


class Fleets:
    """Histories as they may arrive, all made at about the same time."""

    def __init__(self, pipeline: Pipeline) -> None:
        assert pipeline.backend.digest_key_file is not None
        self._digester = Digester(pipeline.backend.digest_key_file.read_bytes())
        self._clock = Clock(NOW_MS)

    def fleet(self, run_id: str) -> list[bytes]:
        """A run that ended."""
        return small_fleet(run_id, clock=self._clock, calls=4, digester=self._digester)

    def chain(self, run_id: str) -> Chain:
        """One stream."""
        return Chain(run_id, "run", self._clock, digester=self._digester)

    def late(self, run_id: str) -> list[bytes]:
        """A run whose agent goes on behind its end."""
        root, agent = self.chain(run_id), Chain(run_id, "agent", self._clock, digester=self._digester)
        events = [root.run_started(), agent.agent_started(root.latest), agent.agent_finished()]
        return [*events, root.run_finished(agent.latest), agent.call_started("late"), agent.call_finished()]

    def forked(self, run_id: str) -> list[bytes]:
        """A run with two histories."""
        root = self.chain(run_id)
        events = [root.run_started()]
        other = root.fork()
        events += [root.call_started("one"), root.call_finished(), root.run_finished()]
        return [*events, other.call_started("other"), other.call_finished()]


def conditions(pipeline: Pipeline, run_id: str) -> set[str]:
    """What the auditor says of a run's streams."""
    assert pipeline.backend.redis is not None
    catalogue = RedisCatalogue(pipeline.backend.redis, "default")
    try:
        return {str(found.condition) for found in catalogue.integrity(run_id)} - {"INTACT"}
    finally:
        catalogue.close()


def test_events_that_come_twice_late_mixed_or_not_at_all(tmp_path: Path) -> None:
    """Duplicates count once; order mends itself; gaps, forks, and what comes late or changed, are kept and named."""
    pipeline = Pipeline(fresh_backend(tmp_path), tmp_path)
    fleets, chance = Fleets(pipeline), random.Random(7)
    doubled, mixed = fleets.fleet("run-twice"), fleets.fleet("run-mixed")
    gapped = [payload for number, payload in enumerate(fleets.fleet("run-gapped")) if number != 7]
    changed = fleets.fleet("run-changed")
    changed[7] = changed[7].replace(b"look_up", b"look_it", 1)
    late, forked = fleets.late("run-late"), fleets.forked("run-forked")
    first = [*doubled, *mixed, *gapped, *changed, *late, *forked]
    sent = [*chance.sample(mixed, len(mixed)), *gapped, *changed, *late, *forked, *doubled, *doubled, *mixed]
    with pipeline.processors():
        publish(Topology(pipeline.backend, tmp_path), sent)
        with pipeline.recorder() as recorder:
            run_id = work(recorder, "beside")
            assert drained(recorder)
        pipeline.check(
            extra=first, damaged={"run-gapped": {"MISSING"}, "run-forked": {"FORKED"}, "run-changed": {"CHANGED"}}
        )
        wait_until(lambda: conditions(pipeline, "run-gapped") == {"GAPPED"})
        wait_until(lambda: conditions(pipeline, "run-forked") == {"FORKED"})
        wait_until(lambda: conditions(pipeline, "run-changed") == {"BROKEN"})
        wait_until(lambda: conditions(pipeline, "run-late") == {"LATE"})
        for sound in ("run-twice", "run-mixed", run_id):
            assert conditions(pipeline, sound) == set()
    assert pipeline.quarantine() == []


def inject(pipeline: Pipeline, rows: Sequence[tuple[bytes | None, bytes | None, list[tuple[str, bytes]]]]) -> set[str]:
    """Put records into the topic as any client could; where they lie."""
    lie: set[str] = set()
    producer = Producer({"bootstrap.servers": pipeline.kafka.bootstrap, "message.max.bytes": 18_000_000})
    for key, value, headers in rows:
        producer.produce(
            pipeline.events, value, key, headers=headers,
            on_delivery=lambda error, message: lie.add(f"{error or message.topic()}/{message.partition()}/{message.offset()}"),
        )  # fmt: skip
    assert producer.flush(60) == 0
    return lie


def test_poison_lies_in_quarantine_with_its_reason(tmp_path: Path) -> None:
    """Empty, damaged, foreign, oversized, contradicting: each once from each who reads it, and nothing else does."""
    pipeline = Pipeline(fresh_backend(tmp_path), tmp_path)
    with Topology(pipeline.backend, tmp_path).registry() as registry:
        event = registry.to_wire(Fleets(pipeline).fleet("run-poison")[0])
    key = b"run-poison"
    rows: list[tuple[bytes | None, bytes | None, list[tuple[str, bytes]]]] = [
        (key, None, []),
        (key, b"", []),
        (key, b"\x00\x00", []),
        (key, b"\x7f" * 100, []),
        (key, b"\0" + (1 << 31).to_bytes(4, "big") + event[5:], []),
        (key, event[:60], []),
        (key, event[:5] + b"\xff" * 200, []),
        (b"another", event, []),
        (None, event, []),
        (key, event, [("tacho-tenant", b"acme")]),
        (key, event, [("tacho-hash", b"00" * 32)]),
        (key, event[:-1] + bytes(16 * 1024 * 1024 + 100), []),
    ]
    with pipeline.processors(), pipeline.recorder() as recorder:
        work(recorder, "before")
        lie = inject(pipeline, rows)
        work(recorder, "after")
        assert drained(recorder)
        pipeline.check()
    found = pipeline.quarantine()
    told = {dict(record.headers)["tacho-source"].decode() for record in found}
    assert told == lie
    assert len(lie) == len(rows)
    assert all(dict(record.headers)["tacho-reason"] for record in found)
    assert {record.value or b"" for record in found} == {value or b"" for _, value, _ in rows}


class Stepped(SystemSources):
    """A machine's clock that somebody sets."""

    offset_us = 0

    def now_us(self) -> int:
        return super().now_us() + self.offset_us


@pytest.mark.parametrize("hours", [1.1, -1.1])
def test_a_clock_that_is_set_by_more_than_an_hour(tmp_path: Path, hours: float) -> None:
    """In the middle of runs, and back: brokers refuse such times, and not the events; no order is lost."""
    pipeline = Pipeline(fresh_backend(tmp_path), tmp_path)
    clock = Stepped()
    with pipeline.processors(), pipeline.recorder(sources=clock) as recorder:
        with recorder.run("stepped") as run, run.agent("worker") as agent:
            for number, offset in enumerate((0.0, hours, hours, 0.0)):
                clock.offset_us = int(offset * HOUR_US)
                agent.call(len, f"at {offset}")
                work(recorder, f"{number}: run at {offset}")
        with pipeline.recorder("beside") as other:
            work(other, "beside")
            assert drained(other)
        assert drained(recorder)
        pipeline.check()
    assert pipeline.quarantine() == []


def test_two_tenants_side_by_side(tmp_path: Path) -> None:
    """On one machine, in one home, with the same names: no key, record, object or answer of one shows the other."""
    pipeline = Pipeline(fresh_backend(tmp_path), tmp_path)
    runs: dict[str, list[str]] = {}
    with pipeline.processors():
        for tenant in ("acme", "globex"):
            with pipeline.recorder(tenant=tenant) as recorder:
                runs[tenant] = [work(recorder, f"secret of {tenant} {number}", large=20_000) for number in range(3)]
                assert drained(recorder)
        pipeline.check()
    assert pipeline.backend.s3 is not None
    assert pipeline.backend.redis is not None
    bucket = Bucket(pipeline.backend.s3)
    for tenant, other in (("acme", "globex"), ("globex", "acme")):
        assert list(bucket.names(f"{tenant}/objects/")), "bodies"
        foreign = [*runs[other], other]
        for name in bucket.names(f"{tenant}/"):
            data = bucket.get(name) or b""
            assert not [text for text in foreign if text in name or text.encode() in data], name
        catalogue = RedisCatalogue(pipeline.backend.redis, tenant)
        assert not [text for text in foreign if text in repr((catalogue.prefix, catalogue.content()))]
        assert catalogue.find(other, "send_mail", f"mail:secret of {other} 0-one") is None
        catalogue.close()
        home = pipeline.far_home(tenant, f"far-{tenant}")
        assert sorted(home.log.run_ids()) == sorted(runs[tenant])
        for run_id in runs[other]:
            with pytest.raises(UnknownRun):
                home.catalogue.run(run_id)
        for plan in TOPICS:
            for record in read_all(pipeline.kafka, topic_name(pipeline.kafka, plan.name)):
                texts = repr((record.key, record.value, record.headers))
                assert [tenant in texts, other in texts] != [True, True], (plan.name, record.key)
