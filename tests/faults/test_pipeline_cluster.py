"""Three brokers, two of which must have a record: a leader dies, the quorum goes and comes back, partitions are moved."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

from archive_topology import wait_until
from pipeline import Pipeline, drained, work
from services import Own, Running, fresh_backend, own_kafka
from tachograph.control.dev._cache import cache_directory
from tachograph.control.dev._fetch import Programs

pytestmark = pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnhandledThreadExceptionWarning"  # aiokafka's thread, where a broker goes away while it stops
)

NIGHTLY = os.environ.get("TACHO_NIGHTLY") == "1"
ROUNDS = 3 if NIGHTLY else 1


def leader(cluster: Own, topic: str, partition: int = 0) -> Running:
    """The broker that leads a partition."""
    found = AdminClient({"bootstrap.servers": cluster.address}).list_topics(topic, timeout=30)
    return cluster.servers[found.topics[topic].partitions[partition].leader - 1]


def in_sync(cluster: Own, topic: str) -> bool:
    """Whether every partition is on all brokers."""
    found = AdminClient({"bootstrap.servers": cluster.address}).list_topics(topic, timeout=30)
    return all(len(each.isrs) == len(cluster.servers) for each in found.topics[topic].partitions.values())


def test_leaders_and_quorum_are_lost_and_regained(tmp_path: Path) -> None:
    """Kill -9 of a leader; then of two, so that nothing is acknowledged; then all are back: nothing is lost or there twice."""
    with own_kafka(tmp_path / "kafka", brokers=3) as cluster:
        backend = replace(fresh_backend(tmp_path, "s3", "redis"), kafka=cluster.settings)
        pipeline = Pipeline(backend, tmp_path)
        with pipeline.processors(), pipeline.recorder() as recorder:
            for number in range(ROUNDS):
                work(recorder, f"all {number}")
                assert drained(recorder, 60)
                first = leader(cluster, pipeline.events)
                first.kill()
                work(recorder, f"two {number}")
                assert drained(recorder, 90), "two of three are enough"
                second = next(server for server in cluster.servers if server is not first)
                second.kill()
                work(recorder, f"one {number}")
                assert not drained(recorder, 5), "one of three is not enough"
                second.start(wait=False)
                assert drained(recorder, 90)
                first.start()
                wait_until(lambda: in_sync(cluster, pipeline.events))
            recorder.close()
            pipeline.check()


def reassign(cluster: Own, pipeline: Pipeline, replicas: Sequence[int]) -> None:
    """Move every partition of the events to these brokers, with Kafka's own tool; returns when that is done."""
    programs, plan = Programs(cache_directory()), pipeline.directory / "plan.json"
    moves = [{"topic": pipeline.events, "partition": number, "replicas": list(replicas)} for number in range(3)]
    plan.write_text(json.dumps({"version": 1, "partitions": moves}))
    tool = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
    command = [str(programs.java), "-Xmx256m", "-XX:TieredStopAtLevel=1", "-cp", str(programs.kafka / "*"), tool]
    asked = [*command, "--bootstrap-server", cluster.address, "--reassignment-json-file", str(plan), "--execute"]
    done = subprocess.run(asked, capture_output=True, text=True, check=False, cwd=pipeline.directory)
    assert done.returncode == 0, done.stdout + done.stderr
    wait_until(lambda: placed(cluster, pipeline.events) == [sorted(replicas)] * 3)


def placed(cluster: Own, topic: str) -> list[list[int]]:
    """Where each partition lies, and is in sync."""
    found = AdminClient({"bootstrap.servers": cluster.address}).list_topics(topic, timeout=30)
    partitions = [found.topics[topic].partitions[number] for number in range(3)]
    return [sorted(each.replicas) if sorted(each.replicas) == sorted(each.isrs) else [] for each in partitions]


def test_partitions_are_moved_to_other_brokers(tmp_path: Path) -> None:
    """While a fleet is recorded, away from their leaders and back: order and events stay as they are."""
    with own_kafka(tmp_path / "kafka", brokers=3) as cluster:
        backend = replace(fresh_backend(tmp_path, "s3", "redis"), kafka=cluster.settings)
        pipeline = Pipeline(backend, tmp_path)
        with pipeline.processors(), pipeline.recorder() as recorder:
            work(recorder, "before")
            for replicas in ([1, 2], [3, 2], [3, 1, 2]):
                reassign(cluster, pipeline, replicas)
                work(recorder, f"on {replicas}")
            assert drained(recorder, 60)
            recorder.close()
            pipeline.check()
