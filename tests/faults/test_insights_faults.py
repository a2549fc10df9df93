"""Insights are killed, lose Redis and share partitions: in the end the catalogue holds what all findings give."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from insights_support import (
    backend_with_topics,
    catalogue_of,
    expected_content,
    running,
    send,
    some_findings,
    wait_until,
)
from services import own
from tachograph.core.findings import Finding, finding_bytes
from tachograph.stores.backend import Backend, RedisSettings, Secret

PROCESS = Path(__file__).parents[1] / "insights_process.py"


@contextmanager
def process(backend: Backend) -> Generator[subprocess.Popen[str]]:
    """The application in a process of its own, killed at the end if it still runs."""
    assert backend.kafka is not None
    assert backend.redis is not None
    settings = [backend.kafka.bootstrap, backend.kafka.topic_prefix, backend.redis.url.text]
    with subprocess.Popen([sys.executable, str(PROCESS), *settings], stdout=subprocess.PIPE, text=True) as started:
        assert started.stdout is not None
        assert started.stdout.readline() == "started\n"
        try:
            yield started
        finally:
            started.kill()


def values(findings: list[Finding]) -> list[tuple[str, bytes]]:
    """Findings as records."""
    return [(finding.run_id, finding_bytes(finding)) for finding in findings]


@pytest.mark.parametrize("seed", [11, 12])
def test_a_killed_process_loses_nothing(tmp_path: Path, seed: int) -> None:
    """Kill -9 at random moments, again and again: what was not applied is applied by the next process."""
    backend = backend_with_topics(tmp_path)
    findings = some_findings(tmp_path, seed, steps=400)
    rng = random.Random(seed)
    for part in range(3):
        send(backend, "findings", values(findings[part::3]))
        with process(backend) as started:
            threading.Event().wait(rng.uniform(0.5, 4))
            started.kill()
    wanted = expected_content(backend, findings)
    with process(backend) as started, catalogue_of(backend) as catalogue:
        wait_until(lambda: catalogue.content() == wanted)
        started.terminate()
        assert started.wait(60) == 0


def test_redis_goes_and_comes_back(tmp_path: Path) -> None:
    """While Redis is gone nothing is acknowledged; flushed, it is filled by what is applied again."""
    with own("redis", tmp_path / "own") as redis:
        backend = replace(backend_with_topics(tmp_path), redis=RedisSettings(Secret(redis.address)))
        findings = some_findings(tmp_path, seed=13)
        wanted = expected_content(backend, findings)
        half = len(findings) // 2
        with running(backend) as insights:
            send(backend, "findings", values(findings[:half]))
            redis.servers[0].kill()
            send(backend, "findings", values(findings[half:]))
            threading.Event().wait(2)
            redis.servers[0].start()
            with catalogue_of(backend) as catalogue:
                insights.until(lambda: len(catalogue.content()) > 0)
                # What Redis had not written down when it was killed is told again, as a rebuild does.
                send(backend, "findings", values(findings))
                insights.until(lambda: catalogue.content() == wanted)


def test_instances_come_and_go(tmp_path: Path) -> None:
    """A rebalance gives findings twice at most, and a finding applied twice changes nothing."""
    backend = backend_with_topics(tmp_path)
    findings = some_findings(tmp_path, seed=14, steps=400)
    with process(backend):
        for part in range(4):
            send(backend, "findings", values(findings[part::4]))
            with process(backend):
                threading.Event().wait(2)
        wanted = expected_content(backend, findings)
        with catalogue_of(backend) as catalogue:
            wait_until(lambda: catalogue.content() == wanted)
