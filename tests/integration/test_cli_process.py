"""`tacho process`: processors until they are told to end, on the servers that the environment names."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Mapping
from pathlib import Path

import pytest

from archive_topology import Topology, publish, topology, wait_until
from chains import small_fleet
from fold_topology import with_snapshots
from tachograph.stores.kafka import TOPICS, TopicPlan, ensure_topics
from tachograph.stores.redis import RedisCatalogue

TACHO = [sys.executable, "-m", "tachograph.control"]


def environment(servers: Topology) -> Mapping[str, str]:
    """As a deployment sets it."""
    backend = servers.backend
    assert backend.s3 is not None
    named = {
        "TACHO_KAFKA_BOOTSTRAP": servers.kafka.bootstrap,
        "TACHO_TOPIC_PREFIX": servers.kafka.topic_prefix,
        "TACHO_S3_URL": backend.s3.url,
        "TACHO_S3_BUCKET": backend.s3.bucket,
        "TACHO_S3_ACCESS_KEY": backend.s3.access_key,
        "TACHO_S3_SECRET_KEY": backend.s3.secret_key.text,
    }
    redis = {} if backend.redis is None else {"TACHO_REDIS_URL": backend.redis.url.text}
    return {**os.environ, **named, **redis, "TACHO_HOME": str(servers.directory / "home")}


def free_ports(count: int) -> int:
    """The first of some ports behind each other that nobody listens at."""
    for first in range(31_000, 60_000, 10):
        sockets = [socket.socket() for _ in range(count)]
        try:
            for number, each in enumerate(sockets):
                each.bind(("127.0.0.1", first + number))
        except OSError:
            continue
        finally:
            for each in sockets:
                each.close()
        return first
    raise AssertionError("no ports are free")


def answers(port: int) -> bool:
    """Whether a processor says that it is well."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz") as answer:
            return bool(answer.read() == b"ok\n")
    except OSError:
        return False


def test_all_of_them_from_the_log_to_the_catalogue(tmp_path: Path) -> None:
    """In one process, with a status each; SIGTERM ends them in good order."""
    servers = topology(tmp_path, services=("kafka", "s3", "redis"))
    ensure_topics(servers.kafka, [TopicPlan(plan.name, 3, plan.retention_hours) for plan in TOPICS])
    payloads = [payload for number in range(5) for payload in small_fleet(f"run-{number}")]
    publish(servers, payloads)
    port = free_ports(3)
    process = subprocess.Popen(
        [*TACHO, "process", "all", "--metrics-port", str(port), "--json"],
        env=environment(servers), stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert servers.backend.redis is not None
    catalogue = RedisCatalogue(servers.backend.redis, "default")
    try:
        wait_until(lambda: all(answers(port + number) for number in range(3)))
        wait_until(lambda: [row.status for row in catalogue.runs()] == ["FINISHED"] * 5, 90)
        assert [row.run_id for row in catalogue.runs()] == [f"run-{number}" for number in range(5)]
        process.send_signal(signal.SIGTERM)
        output, _ = process.communicate(timeout=60)
    finally:
        process.kill()
        catalogue.close()
    assert process.returncode == 0
    assert json.loads(output)["result"] == {"processors": ["archive", "fold", "insights"]}


def test_one_of_them_ends_when_told(tmp_path: Path) -> None:
    """It says so."""
    servers = with_snapshots(topology(tmp_path))
    port = free_ports(1)
    process = subprocess.Popen(
        [*TACHO, "process", "fold", "--metrics-port", str(port)],
        env=environment(servers), stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        wait_until(lambda: answers(port))
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=60)
    finally:
        process.kill()
    assert (process.returncode, output) == (0, "Ended in good order: fold.\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["process", "fold"], "TACHO_KAFKA_BOOTSTRAP"),
        (["process", "all"], "TACHO_"),
        (["process", "fold", "--metrics-port", "70000"], "--metrics-port"),
        (["process", "oracle"], "oracle"),
    ],
)
def test_what_cannot_be(tmp_path: Path, arguments: list[str], said: str) -> None:
    """Is named, with the usual exit code."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("TACHO_")}
    ended = subprocess.run(
        [*TACHO, "--home", str(tmp_path), *arguments], env=clean, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 64
    assert said in ended.stderr
