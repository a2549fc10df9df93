"""The fold under faults: killed anywhere, instances in a storm, poison, S3 gone. What it tells is what the log adds up to."""

from __future__ import annotations

import dataclasses
import random
import threading
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from archive_topology import Topology, archiving, publish, send, topology, wait_until
from fold_process import POINTS
from fold_topology import (
    QUICK,
    Catalogue,
    expected,
    folded_to,
    folding,
    plain,
    states_of,
    with_snapshots,
)
from lives import Lives, fleets
from services import own, s3_settings
from tachograph.core.state import state_bytes
from tachograph.stores.archive import SnapshotStore
from tachograph.stores.s3 import S3Unreachable


def _fleets(count: int) -> list[bytes]:
    return fleets(count, calls=4)


def _check(servers: Topology, payloads: Sequence[bytes]) -> None:
    """The ledger: rows, effects and signatures are the log's, and so is every state that was stored last."""
    catalogue = Catalogue(servers)
    try:
        wait_until(lambda: plain(catalogue.look()) == plain(expected(payloads)), 30)
    finally:
        catalogue.close()
    store = SnapshotStore(servers.bucket, "default")
    for run_id, state in states_of(payloads).items():
        kept = store.newest(run_id)
        assert kept is not None
        assert state_bytes(kept) == state_bytes(state)


@pytest.fixture
def servers(tmp_path: Path) -> Topology:
    """Kafka and S3, empty."""
    return with_snapshots(topology(tmp_path))


def test_killed_at_every_point(servers: Topology) -> None:
    """Before and after each step of a checkpoint; the next life comes to the same."""
    lives, payloads = Lives(servers, "fold_process.py"), _fleets(18)
    step = len(payloads) // len(POINTS)
    for number, point in enumerate(POINTS):
        publish(servers, payloads[number * step : (number + 1) * step])
        lives.start_and_die(point, 1 + number % 2)
    publish(servers, payloads[len(POINTS) * step :])
    lives.finish(len(payloads))
    _check(servers, payloads)


def test_killed_at_any_moment(servers: Topology) -> None:
    """Whenever a random number of events are committed."""
    lives, payloads = Lives(servers, "fold_process.py"), _fleets(40)
    chance = random.Random(43)
    publish(servers, payloads)
    for _ in range(3):
        lives.start_and_kill(chance.randrange(len(payloads) // 2))
    lives.finish(len(payloads))
    _check(servers, payloads)


def test_instances_come_and_go(servers: Topology) -> None:
    """A storm of rebalances while events come, poison among them."""
    payloads = _fleets(40)
    parts = [payloads[start : start + 150] for start in range(0, len(payloads), 150)]
    bad = [(b"run-1", b"\0\0\0", [], 0), (b"run-2", None, [], 0)]
    with folding(servers):
        for number, part in enumerate(parts):
            with ExitStack() as more:
                more.enter_context(folding(servers, name=f"second-{number}"))
                publish(servers, part)
                send(servers, bad)
                more.enter_context(folding(servers, name=f"third-{number}"))
        wait_until(lambda: folded_to(servers) == len(payloads) + len(bad) * len(parts))
    _check(servers, payloads)


def test_s3_goes_and_comes_back(tmp_path: Path) -> None:
    """Killed under load: the fold waits, and commits nothing that is not stored."""
    with own("s3", tmp_path / "own") as store:
        shared = with_snapshots(topology(tmp_path, services=("kafka",)))
        backend = dataclasses.replace(shared.backend, s3=s3_settings(store.address, "bucket"))
        servers = dataclasses.replace(shared, backend=backend)
        payloads = _fleets(12)
        half = len(payloads) // 2
        with folding(servers, dataclasses.replace(QUICK, fault_seconds=60)):
            publish(servers, payloads[:half])
            wait_until(lambda: folded_to(servers) == half)
            store.servers[0].kill()
            publish(servers, payloads[half:])
            threading.Event().wait(1)
            assert folded_to(servers) == half
            store.servers[0].start()
            wait_until(lambda: folded_to(servers) == len(payloads))
        _check(servers, payloads)


def test_s3_that_stays_away_ends_the_process(servers: Topology) -> None:
    """With the reason, and without a commit: whoever supervises it starts it again."""
    payloads = _fleets(3)
    publish(servers, payloads)
    assert servers.backend.s3 is not None
    away = dataclasses.replace(servers.backend.s3, url="http://127.0.0.1:1")
    broken = dataclasses.replace(servers, backend=dataclasses.replace(servers.backend, s3=away))
    impatient = dataclasses.replace(QUICK, fault_seconds=1)
    with pytest.raises(S3Unreachable, match="Connection refused"), folding(broken, impatient) as thread:
        wait_until(lambda: not thread.is_alive())
    assert folded_to(servers) == 0
    with folding(servers):
        wait_until(lambda: folded_to(servers) == len(payloads))
    _check(servers, payloads)


def test_snapshots_that_are_lost_are_made_up_for_from_the_archive(servers: Topology) -> None:
    """Half of a log is folded and archived; then all that the fold had stored is gone."""
    payloads = _fleets(10)
    half = len(payloads) // 2
    publish(servers, payloads[:half])
    with archiving(servers), folding(servers):
        wait_until(lambda: folded_to(servers) == half)
    for name in list(servers.bucket.names("default/snapshots/")):
        servers.bucket.remove(name)
    publish(servers, payloads[half:])
    with folding(servers):
        wait_until(lambda: folded_to(servers) == len(payloads))
    _check(servers, payloads)
