"""Servers stop, hang, crash and come back while a fleet is recorded: nothing is lost on the whole way to the catalogue."""

from __future__ import annotations

import itertools
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from redis import Redis

from pipeline import Pipeline, drained, work
from services import fresh_backend, own, own_kafka, s3_settings
from tachograph.stores import rebuild
from tachograph.stores.backend import KafkaSettings, RedisSettings, RegistrySettings, Secret
from tachograph.stores.s3 import Bucket

pytestmark = pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnhandledThreadExceptionWarning"  # aiokafka's thread, where a broker goes away while it stops
)

IMPATIENT = {"socket.timeout.ms": "1000", "request.timeout.ms": "500", "connections.max.idle.ms": "3000"}
"""Of librdkafka, far below what an outage in these tests takes."""


def rest(seconds: float) -> None:
    """As long as an outage lasts: longer than what clients wait."""
    threading.Event().wait(seconds)


@pytest.mark.parametrize("how", ["stopped", "killed", "silent"])
def test_a_broker_is_away_for_longer_than_clients_wait(tmp_path: Path, how: str) -> None:
    """In order, with -9, or without a word; recording goes on, and all is there once it is back on its disk."""
    with own_kafka(tmp_path / "kafka") as cluster:
        kafka = KafkaSettings(cluster.address, IMPATIENT)
        pipeline = Pipeline(replace(fresh_backend(tmp_path, "registry", "s3", "redis"), kafka=kafka), tmp_path)
        broker = cluster.servers[0]
        with pipeline.processors(), pipeline.recorder() as recorder:
            for number in range(3):
                work(recorder, f"before {number}")
            assert drained(recorder, 60)
            {"stopped": broker.stop, "killed": broker.kill, "silent": broker.freeze}[how]()
            for number in range(3):
                work(recorder, f"meanwhile {number}", large=30_000)
            assert not drained(recorder, 5)
            if how == "silent":
                broker.thaw()
            else:
                broker.start()
            work(recorder, "after")
            assert drained(recorder, 60)
            recorder.close()
            pipeline.check()


def test_redis_is_flushed_and_restarted(tmp_path: Path) -> None:
    """What was told meanwhile waits; what was forgotten is made anew from the archive, and is the same."""
    with own("redis", tmp_path / "own") as redis:
        backend = replace(fresh_backend(tmp_path), redis=RedisSettings(Secret(f"{redis.address}/0")))
        pipeline = Pipeline(backend, tmp_path)
        with pipeline.processors(), pipeline.recorder() as recorder:
            for number in range(4):
                work(recorder, f"before {number}")
            assert drained(recorder, 60)
            pipeline.settle()
            redis.servers[0].kill()
            for number in range(4):
                work(recorder, f"meanwhile {number}")
            recorder.close()
            redis.servers[0].start()
            pipeline.settle()
            with Redis.from_url(f"{redis.address}/0") as client:
                client.flushall()
            assert rebuild(pipeline.far_home(), check=True).differences
            rebuild(pipeline.far_home(), check=False)
            pipeline.check()


def test_s3_is_away(tmp_path: Path) -> None:
    """Killed in the middle: events wait for their bodies, offsets for their segments."""
    with own("s3", tmp_path / "own") as store:
        backend = replace(fresh_backend(tmp_path, "kafka", "redis"), s3=s3_settings(store.address, "bucket"))
        pipeline = Pipeline(backend, tmp_path)
        with pipeline.processors(), pipeline.recorder() as recorder:
            work(recorder, "before", large=30_000)
            assert drained(recorder, 60)
            store.servers[0].kill()
            work(recorder, "meanwhile", large=30_000)
            assert not drained(recorder, 2)
            store.servers[0].start()
            assert drained(recorder, 60)
            recorder.close()
            pipeline.check()


def test_the_registry_is_away(tmp_path: Path) -> None:
    """Whoever knows the schemas goes on: recorders that start, shippers, processors."""
    with own("registry", tmp_path / "own") as registry:
        backend = replace(fresh_backend(tmp_path, "kafka", "s3", "redis"), registry=RegistrySettings(registry.address))
        pipeline = Pipeline(backend, tmp_path)
        with pipeline.processors():
            with pipeline.recorder() as recorder:
                work(recorder, "before")
                assert drained(recorder, 60)
            pipeline.settle()
            registry.servers[0].kill()
            with pipeline.recorder() as recorder:
                work(recorder, "meanwhile")
                assert drained(recorder, 60)
            pipeline.check()


class _Forgetful(Bucket):
    """Acknowledges, and loses, every second segment that the archive writes."""

    turns = itertools.count()

    def put_new(self, name: str, data: bytes) -> bool:
        put = super().put_new(name, data)
        if name.endswith(".avro") and next(self.turns) % 2 == 0:
            self.remove(name)
        return put


def test_s3_loses_objects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Segments as soon as they are acknowledged; then every snapshot, book and count while nobody looks."""
    pipeline = Pipeline(fresh_backend(tmp_path, "kafka", "s3", "redis"), tmp_path)
    assert pipeline.backend.s3 is not None
    bucket = Bucket(pipeline.backend.s3)
    with monkeypatch.context() as patch, pipeline.recorder() as recorder:
        patch.setattr("tachograph.stream_processors.archive._run.Bucket", _Forgetful)
        with pipeline.processors():
            with recorder.run("long") as run, run.agent("worker") as agent:
                for number in range(30):
                    agent.call(len, f"{number}" * 100)
            work(recorder, "whole")
            assert drained(recorder, 60)
            pipeline.settle()
    for prefix in ("default/snapshots/", "fold/", "audit/"):
        for name in list(bucket.names(prefix)):
            bucket.remove(name)
    with pipeline.processors(name="second"), pipeline.recorder() as recorder:
        work(recorder, "after")
        assert drained(recorder, 60)
        recorder.close()
        pipeline.check()
