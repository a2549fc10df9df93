"""A network between everybody and the broker that stalls, trickles and cuts: late, but whole and once."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline import Pipeline, drained, work
from proxies import Link, kafka_behind_proxy, toxiproxy
from services import fresh_backend
from tachograph.control.dev._ports import HOST, Ports
from tachograph.producers import Recorder
from tachograph.stores.backend import KafkaSettings

pytestmark = pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnhandledThreadExceptionWarning"  # aiokafka's thread, where a broker goes away while it stops
)

IMPATIENT = {"socket.timeout.ms": "1500", "request.timeout.ms": "1000", "connections.max.idle.ms": "4000"}


def test_a_broker_half_open_slow_and_cut_off(tmp_path: Path) -> None:
    """One after the other, each longer than clients wait, while a fleet is recorded and processed."""
    with kafka_behind_proxy(tmp_path / "kafka") as (cluster, link):
        kafka = KafkaSettings(cluster.address, IMPATIENT)
        pipeline = Pipeline(replace(fresh_backend(tmp_path, "s3", "redis"), kafka=kafka), tmp_path)
        with pipeline.processors(), pipeline.recorder() as recorder:
            work(recorder, "before")
            assert drained(recorder, 60)
            link.stall()
            work(recorder, "stalled", large=20_000)
            assert not drained(recorder, 4)
            link.heal()
            link.latency(300)
            work(recorder, "slow")
            assert drained(recorder, 90)
            link.heal()
            _cut(link, recorder)
            assert drained(recorder, 60)
            recorder.close()
            pipeline.check()


def _cut(link: Link, recorder: Recorder) -> None:
    """Reset in the middle of answers, thrice."""
    for number in range(3):
        link.reset()
        work(recorder, f"reset {number}")
        threading.Event().wait(0.7)
        link.heal()
        threading.Event().wait(0.3)


def test_s3_that_is_slow_and_refuses(tmp_path: Path) -> None:
    """Every answer takes long, connections are reset or refused: everything is stored all the same."""
    shared = fresh_backend(tmp_path, "kafka", "s3", "redis")
    assert shared.s3 is not None
    ports = Ports()
    upstream = int(shared.s3.url.rpartition(":")[2])
    with toxiproxy(tmp_path, upstream, ports) as link:
        backend = replace(shared, s3=replace(shared.s3, url=f"http://{HOST}:{link.port}"))
        pipeline = Pipeline(backend, tmp_path)
        with pipeline.processors(), pipeline.recorder() as recorder:
            link.latency(200)
            work(recorder, "slow", large=20_000)
            assert drained(recorder, 60)
            link.heal()
            link.reset()
            work(recorder, "reset", large=20_000)
            assert not drained(recorder, 2)
            link.heal()
            link.cut()
            work(recorder, "cut", large=20_000)
            assert not drained(recorder, 2)
            link.heal()
            assert drained(recorder, 60)
            recorder.close()
            pipeline.check()
    ports.release()
