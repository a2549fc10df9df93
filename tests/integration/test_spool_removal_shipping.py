"""Over a real cluster and a real archive: whoever ships removes what may go, `tacho ship` and a recorder's own shipper."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from archive_topology import archiving, committed, topology, wait_until
from removal import spools
from shipping import record
from tachograph.producers import Recorder
from tachograph.producers.shipper import ship
from tachograph.stores import Home, verify_home


def silent(_done: int, _all: int, _what: str) -> None:
    """Progress that nobody sees."""


def test_spools_go_when_the_archive_has_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not before: what brokers acknowledged and nobody archived stays. Afterwards the home tells the same."""
    servers, home = topology(tmp_path, services=("kafka", "s3")), tmp_path / "home"
    backend = replace(servers.backend, spool_keep_hours=0.0)
    monkeypatch.setenv("TACHO_DIGEST_KEY_FILE", str(backend.digest_key_file))
    record(home, 2, 5, large=40_000).close()
    record(home, 1, 5).close()
    done = ship(home, backend, silent)
    assert (done.spools, done.removed, done.is_complete) == (2, 0, True)
    run_ids = list(Home.open(home, backend=backend).log.run_ids())
    with archiving(servers):
        wait_until(lambda: committed(servers) >= done.events)
    removed_by_hand = ship(home, replace(backend, spool_keep_hours=24.0), silent).removed
    assert removed_by_hand == 0
    assert ship(home, backend, silent).removed == 2
    assert spools(home) == []
    opened = Home.open(home, backend=backend)
    assert list(opened.log.run_ids()) == run_ids
    assert verify_home(opened).findings == ()


def test_a_recorder_removes_what_others_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own spool, which it holds, stays."""
    servers, home = topology(tmp_path, services=("kafka", "s3")), tmp_path / "home"
    monkeypatch.setenv("TACHO_DIGEST_KEY_FILE", str(servers.backend.digest_key_file))
    record(home, 2, 5).close()
    done = ship(home, servers.backend, silent)
    with archiving(servers):
        wait_until(lambda: committed(servers) >= done.events)
    (dead,) = spools(home)
    with Recorder(home, ship=replace(servers.backend, spool_keep_hours=0.0)) as recorder:
        with recorder.run("living"):
            pass
        wait_until(lambda: dead not in spools(home))
        assert len(spools(home)) == 1
