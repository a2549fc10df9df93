"""Outages while recorded events are shipped: the recording goes on, nothing is lost, and nobody has to restart it."""

from __future__ import annotations

from pathlib import Path
from time import monotonic

from kafka_support import SECONDS_MAX
from services import own, own_kafka, s3_settings
from shipping import EVENTS, check, ledger_of, missing_bodies, shipped
from tachograph.producers import Recorder
from tachograph.producers.shipper import Shipper, ship
from tachograph.stores import DirectoryObjects
from tachograph.stores.backend import Backend, KafkaSettings
from tachograph.stores.kafka import ensure_topics
from tachograph.stores.s3 import Bucket, S3Objects


def silent(_done: int, _all: int, _what: str) -> None:
    """Progress that nobody sees."""


def work(recorder: Recorder, runs: int, *, large: int = 0) -> None:
    """Record some runs, durably."""
    for _ in range(runs):
        with recorder.run("work") as run, run.agent("worker") as agent:
            for index in range(20):
                agent.call(len, f"{index}" * (1 + large))
    recorder.flush()


def shipper_of(recorder: Recorder) -> Shipper:
    """Of a recorder that ships."""
    assert recorder.shipper is not None
    return recorder.shipper


def test_a_broker_killed_and_restarted_again_and_again(tmp_path: Path) -> None:
    """Idempotent sending: what was on its way arrives once."""
    with own_kafka(tmp_path / "kafka") as cluster:
        ensure_topics(cluster.settings, [EVENTS])
        backend, home = Backend(kafka=KafkaSettings(cluster.address)), tmp_path / "home"
        recorder = Recorder(home, ship=backend)
        for _ in range(2):
            work(recorder, 5)
            cluster.servers[0].kill()
            work(recorder, 5)
            assert not shipper_of(recorder).drain(0.5).is_complete
            cluster.servers[0].start()
        assert shipper_of(recorder).drain(2 * SECONDS_MAX).is_complete
        recorder.close()
        check(home, backend, ledger_of(home))


def test_a_broker_that_is_silent_beyond_every_time_out(tmp_path: Path) -> None:
    """It holds its connections and answers nothing; requests run out of time, records never."""
    with own_kafka(tmp_path / "kafka") as cluster:
        ensure_topics(cluster.settings, [EVENTS])
        impatient = {"socket.timeout.ms": "1000", "request.timeout.ms": "500", "connections.max.idle.ms": "3000"}
        backend, home = Backend(kafka=KafkaSettings(cluster.address, impatient)), tmp_path / "home"
        recorder = Recorder(home, ship=backend)
        work(recorder, 2)
        assert shipper_of(recorder).drain(SECONDS_MAX).is_complete
        cluster.servers[0].freeze()
        work(recorder, 2)
        waiting = shipper_of(recorder).drain(4.0)
        assert (waiting.is_complete, waiting.stuck) == (False, 0)
        cluster.servers[0].thaw()
        assert shipper_of(recorder).drain(2 * SECONDS_MAX).is_complete
        recorder.close()
        ledger = ledger_of(home)
        check(home, backend, ledger, duplicates_max=len(ledger))


def test_an_end_without_a_broker_is_bounded_and_leaves_the_rest(tmp_path: Path) -> None:
    """The process ends in time, says what waits, and `ship` carries it later."""
    with own_kafka(tmp_path / "kafka") as cluster:
        ensure_topics(cluster.settings, [EVENTS])
        backend, home = Backend(kafka=KafkaSettings(cluster.address)), tmp_path / "home"
        recorder = Recorder(home, ship=backend)
        work(recorder, 1)
        assert shipper_of(recorder).drain(SECONDS_MAX).is_complete
        cluster.servers[0].kill()
        work(recorder, 3)
        began = monotonic()
        recorder.close()
        assert monotonic() - began < SECONDS_MAX
        assert shipper_of(recorder).statistics().waiting_bytes > 0
        cluster.servers[0].start()
        assert ship(home, backend, silent, SECONDS_MAX).is_complete
        ledger = ledger_of(home)
        check(home, backend, ledger, duplicates_max=len(ledger))


def test_bodies_wait_for_their_store_and_events_for_bodies(tmp_path: Path) -> None:
    """While S3 is away no event of a body that is not there is sent; then everything is."""
    with own_kafka(tmp_path / "kafka") as cluster, own("s3", tmp_path / "s3") as store:
        ensure_topics(cluster.settings, [EVENTS])
        s3 = s3_settings(store.address, "bodies")
        key, home = tmp_path / "digest.key", tmp_path / "home"
        key.write_bytes(bytes(32))
        backend = Backend(kafka=KafkaSettings(cluster.address), s3=s3, digest_key_file=key)
        recorder = Recorder(home, ship=backend)
        work(recorder, 1, large=20_000)
        assert shipper_of(recorder).drain(2 * SECONDS_MAX).is_complete
        store.servers[0].kill()
        work(recorder, 1, large=30_000)
        waiting = shipper_of(recorder).drain(3.0)
        assert not waiting.is_complete
        near = DirectoryObjects(home / "objects")
        store.servers[0].start()
        far = S3Objects(Bucket(s3), "default")
        assert missing_bodies(shipped(backend, tmp_path), near, far) == []
        assert shipper_of(recorder).drain(3 * SECONDS_MAX).is_complete
        recorder.close()
        check(home, backend, ledger_of(home))
        assert missing_bodies(shipped(backend, tmp_path), near, far) == []
