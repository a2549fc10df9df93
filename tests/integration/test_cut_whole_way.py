"""Cuts of a run that went over Kafka: the fold's own snapshots, the archive's own segments, and what both add up to."""

from __future__ import annotations

from functools import partial
from random import Random

import pytest

from archive_topology import Topology, archived, archiving, committed, publish, topology, wait_until
from cli import tacho
from fold_topology import folded_to, folding, with_snapshots
from random_fleet import RandomFleet
from tachograph.core.causality import EventId
from tachograph.core.cut import cut_at_event, cut_at_positions
from tachograph.core.state import state_bytes
from tachograph.schemas import decode_meta
from tachograph.stores import Home, archived_positions, archived_step, state_at, state_from_snapshot
from tachograph.stores.archive import SnapshotStore
from tachograph.stores.backend import S3Settings

EVENTS = 400

Recorded = tuple[Home, list[bytes], S3Settings]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """A home that knows the servers only; a run that came in slices, folded and archived while it came."""
    directory = tmp_path_factory.mktemp("whole-way")
    servers = with_snapshots(topology(directory))
    payloads = RandomFleet(Random(12), 4).write(EVENTS)
    with archiving(servers), folding(servers):
        for start in range(0, EVENTS, EVENTS // 4):
            publish(servers, payloads[start : start + EVENTS // 4])
            wait_until(partial(_have_read, servers, start + EVENTS // 4))
    assert sum(archived(servers).values()) == EVENTS
    assert servers.backend.s3 is not None
    return Home.open(directory / "home", create=True, backend=servers.backend), payloads, servers.backend.s3


def _have_read(servers: Topology, events: int) -> bool:
    return committed(servers) == folded_to(servers) == events


def test_events_and_offsets_are_cut_from_the_folds_snapshots(
    recorded: Recorded,
) -> None:
    """Byte for byte what the run folded from its first event on gives."""
    home, payloads, _ = recorded
    assert isinstance(home.snapshots, SnapshotStore)
    assert len(home.snapshots.stored("run-1")) >= 4
    for payload in payloads[10::55]:
        meta = decode_meta(payload)
        event_id = EventId(meta.run_id, meta.agent_id, meta.incarnation, meta.seq)
        quick = state_from_snapshot(home, "run-1", event_id)
        whole = state_at(home.log, ["run-1"], partial(cut_at_event, event_id=event_id))
        assert quick is not None
        assert (quick.cut, quick.proof.events) == (whole.cut, whole.proof.events)
        assert state_bytes(quick.runs["run-1"]) == state_bytes(whole.runs["run-1"])
    assert home.archive is not None
    (place,) = {"/".join(name.split("/")[2:4]) for name in home.archive.names()}
    for offset in (0, 100, 250, EVENTS):
        positions = archived_positions(home, "run-1", f"{place}:{offset}")
        assert positions is not None
        quick = state_from_snapshot(home, "run-1", positions)
        whole = state_at(home.log, ["run-1"], partial(cut_at_positions, positions=positions))
        assert quick is not None
        assert state_bytes(quick.runs["run-1"]) == state_bytes(whole.runs["run-1"])


def test_the_command_finds_steps(recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    """And says so of one that there is not."""
    home, _, s3 = recorded
    step = archived_step(home, "run-1", "run", None, 3)
    assert step is not None
    for name, value in (
        ("TACHO_S3_URL", s3.url),
        ("TACHO_S3_BUCKET", s3.bucket),
        ("TACHO_S3_ACCESS_KEY", s3.access_key),
        ("TACHO_S3_SECRET_KEY", s3.secret_key.text),
        ("TACHO_DIGEST_KEY_FILE", str(home.key_file)),
    ):
        monkeypatch.setenv(name, value)
    done = tacho("--home", home.path, "state", "run-1", "--at", "run:3", "--json")
    assert done.code == 0, done.err
    assert done.result["at"] == str(step.event_id)
    assert done.result["cut"]["closed"]
    refused = tacho("--home", home.path, "state", "run-1", "--at", f"run:{step.steps + 1}")
    assert f"took {step.steps} steps in its life 1" in refused.err
