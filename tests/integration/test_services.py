"""The real servers of a test run: ready when they are given, apart for each test, and gone with whoever asked."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

from confluent_kafka.admin import AdminClient
from minio import Minio
from redis import Redis

from house import ROOT
from processes import pids_in
from services import fresh_backend, own, own_kafka


def brokers(bootstrap: str) -> int:
    """How many brokers the metadata lists."""
    return len(AdminClient({"bootstrap.servers": bootstrap}).list_topics(timeout=10).brokers)


def test_every_server_answers(tmp_path: Path) -> None:
    """What is given is ready: no test waits for a server."""
    backend = fresh_backend(tmp_path)
    assert backend.kafka is not None
    assert backend.s3 is not None
    assert backend.registry is not None
    assert backend.redis is not None
    assert brokers(backend.kafka.bootstrap) == 1
    with urllib.request.urlopen(f"{backend.registry.url}/subjects") as answer:
        assert answer.status == 200
    host = backend.s3.url.removeprefix("http://")
    client = Minio(host, backend.s3.access_key, backend.s3.secret_key.text, secure=False)
    assert client.bucket_exists(backend.s3.bucket)
    with Redis.from_url(backend.redis.url.text) as redis:
        assert redis.ping()


def test_tests_do_not_meet(tmp_path: Path) -> None:
    """Two backends share servers, but neither topics, bucket nor Redis database."""
    one, other = fresh_backend(tmp_path), fresh_backend(tmp_path)
    assert one.kafka is not None
    assert other.kafka is not None
    assert one.kafka.bootstrap == other.kafka.bootstrap
    assert one.kafka.topic_prefix != other.kafka.topic_prefix
    assert one.s3 != other.s3
    assert one.redis != other.redis


def test_only_what_is_asked_for(tmp_path: Path) -> None:
    """A test of the catalogue needs no broker."""
    backend = fresh_backend(tmp_path, "redis")
    assert (backend.kafka, backend.registry, backend.s3) == (None, None, None)
    assert backend.redis is not None


def test_an_own_broker_is_killed_and_comes_back(tmp_path: Path) -> None:
    """A broker that is killed is gone; started again, it has its topics and its port."""
    with own_kafka(tmp_path) as cluster:
        (broker,) = cluster.servers
        port, pid = broker.port, broker.pid
        broker.kill()
        assert not broker.alive
        broker.start()
        assert broker.pid != pid
        assert broker.port == port
        assert brokers(cluster.address) == 1
    assert not broker.alive


def test_an_own_redis_is_stopped_in_order_and_keeps_its_data(tmp_path: Path) -> None:
    """SIGTERM lets it write what it has."""
    with own("redis", tmp_path) as started:
        (server,) = started.servers
        with Redis.from_url(started.address) as redis:
            redis.set("key", "value")
            server.stop()
            assert not server.alive
            server.start()
            assert redis.get("key") == b"value"


TEST_RUN = """
import os, sys
from pathlib import Path
from services import fresh_backend, own, _session
place = Path(sys.argv[1])
fresh_backend(place, "redis")
with own("redis", place / "own") as started:
    print(_session(), flush=True)
    print(started.servers[0].pid, flush=True)
    sys.stdin.read()
"""


def test_nothing_outlives_a_killed_test_run(tmp_path: Path) -> None:
    """A test run that is killed with SIGKILL leaves no server and no directory of servers behind."""
    run = subprocess.Popen(
        [sys.executable, "-c", TEST_RUN, str(tmp_path)],
        cwd=ROOT / "tests", stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env={name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")},
    )  # fmt: skip
    assert run.stdout is not None
    assert run.stdin is not None
    session = Path(run.stdout.readline().strip())
    watched = [os.pidfd_open(pid) for pid in {*pids_in(session), *pids_in(tmp_path)} - {run.pid}]
    assert len(watched) == 3
    run.send_signal(signal.SIGKILL)
    run.communicate()
    for descriptor in watched:
        ended = select.poll()
        ended.register(descriptor, select.POLLIN)
        assert ended.poll(30_000), "a server is still there"
        os.close(descriptor)
    assert pids_in(session) == []
    assert not session.exists()
