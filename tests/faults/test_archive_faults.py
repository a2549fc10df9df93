"""The archive under faults: killed anywhere, S3 gone, hanging, losing, two instances in a storm. Nothing is lost or twice."""

from __future__ import annotations

import dataclasses
import itertools
import random
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from archive_process import POINTS
from archive_topology import (
    QUICK,
    Topology,
    archived,
    archiving,
    committed,
    findings,
    publish,
    topology,
    wait_until,
)
from chains import small_fleet
from lives import Lives, fleets
from services import own, s3_settings
from tachograph.core.findings import Condition, IntegrityFinding, newer
from tachograph.stores.s3 import Bucket, S3Unreachable


def _fleets(count: int) -> list[bytes]:
    return fleets(count, calls=3)


def _check(servers: Topology, payloads: Sequence[bytes]) -> None:
    """The ledger: every event is there once, and the auditor has nothing to say of any stream."""
    assert archived(servers) == Counter(payloads)
    streams = 3 * len(payloads) // len(small_fleet(calls=3))
    stand: dict[str, IntegrityFinding] = {}
    for finding in findings(servers, streams):
        known = stand.get(finding.key)
        if isinstance(finding, IntegrityFinding) and (known is None or newer(finding, known)):
            stand[finding.key] = finding
    assert Counter(finding.condition for finding in stand.values()) == {Condition.INTACT: streams}
    assert sum(finding.events for finding in stand.values()) == len(payloads)


@pytest.fixture
def servers(tmp_path: Path) -> Topology:
    """Kafka and S3, empty."""
    return topology(tmp_path)


def test_killed_at_every_point(servers: Topology) -> None:
    """Before and after each step of storing; the next life carries on, and what it does again counts once."""
    lives, payloads = Lives(servers, "archive_process.py"), _fleets(20)
    step = len(payloads) // len(POINTS)
    for number, point in enumerate(POINTS):
        publish(servers, payloads[number * step : (number + 1) * step])
        lives.start_and_die(point, 1 + number % 3)
    publish(servers, payloads[len(POINTS) * step :])
    lives.finish(len(payloads))
    _check(servers, payloads)


def test_killed_at_any_moment(servers: Topology) -> None:
    """Whenever a random number of events are committed."""
    lives, payloads = Lives(servers, "archive_process.py"), _fleets(40)
    chance = random.Random(41)
    publish(servers, payloads)
    for _ in range(3):
        lives.start_and_kill(chance.randrange(len(payloads)))
    lives.finish(len(payloads))
    _check(servers, payloads)


def test_instances_come_and_go(servers: Topology) -> None:
    """A storm of rebalances while events come: each partition has one owner at a time, and each event is there once."""
    payloads = _fleets(40)
    parts = [payloads[start : start + 100] for start in range(0, len(payloads), 100)]
    with archiving(servers):
        for part in parts:
            with ExitStack() as more:
                more.enter_context(archiving(servers))
                publish(servers, part)
                more.enter_context(archiving(servers))
        wait_until(lambda: committed(servers) == len(payloads))
    _check(servers, payloads)


def test_s3_goes_and_comes_back(tmp_path: Path) -> None:
    """Killed, frozen, restarted under load: the archive waits, and nothing is committed that is not stored."""
    with own("s3", tmp_path / "own") as store:
        shared = topology(tmp_path, services=("kafka",))
        backend = dataclasses.replace(shared.backend, s3=s3_settings(store.address, "bucket"))
        servers = dataclasses.replace(shared, backend=backend)
        payloads = _fleets(20)
        half = len(payloads) // 2
        with archiving(servers, dataclasses.replace(QUICK, fault_seconds=60)):
            publish(servers, payloads[:half])
            wait_until(lambda: committed(servers) == half)
            store.servers[0].kill()
            publish(servers, payloads[half:])
            threading.Event().wait(1)
            assert committed(servers) == half
            store.servers[0].start()
            wait_until(lambda: committed(servers) == len(payloads))
        _check(servers, payloads)


def test_s3_that_stays_away_ends_the_process(servers: Topology) -> None:
    """With the reason, and without a commit: whoever supervises it starts it again."""
    payloads = _fleets(3)
    publish(servers, payloads)
    assert servers.backend.s3 is not None
    away = dataclasses.replace(servers.backend.s3, url="http://127.0.0.1:1")
    broken = dataclasses.replace(servers, backend=dataclasses.replace(servers.backend, s3=away))
    impatient = dataclasses.replace(QUICK, fault_seconds=1)
    with pytest.raises(S3Unreachable, match="Connection refused"), archiving(broken, impatient) as thread:
        wait_until(lambda: not thread.is_alive())
    assert committed(servers) == 0
    with archiving(servers):
        wait_until(lambda: committed(servers) == len(payloads))
    _check(servers, payloads)


class _Losing(Bucket):
    """Acknowledges every second segment, and loses it."""

    turns: Iterator[int] = itertools.count()

    def put_new(self, name: str, data: bytes) -> bool:
        put = super().put_new(name, data)
        if name.endswith(".avro") and next(self.turns) % 2 == 0:
            self.remove(name)
        return put


def test_s3_that_loses_what_it_acknowledged_is_found_out(servers: Topology, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is committed: it is stored once more."""
    monkeypatch.setattr("tachograph.stream_processors.archive._run.Bucket", _Losing)
    payloads = _fleets(10)
    publish(servers, payloads)
    with archiving(servers):
        wait_until(lambda: committed(servers) == len(payloads))
    monkeypatch.undo()
    _check(servers, payloads)
