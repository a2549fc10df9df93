"""The fold on real servers: what the findings come to is what the log adds up to, however often it is begun anew."""

from __future__ import annotations

import socket
import threading
import urllib.request
from pathlib import Path

import pytest

from archive_topology import Topology, archiving, publish, records, send, topology, wait_until
from chains import small_fleet
from fold_topology import Catalogue, expected, folded_to, folding, plain, states_of, with_snapshots
from tachograph.core.errors import InvalidSetting
from tachograph.core.state import state_bytes
from tachograph.stores.archive import SnapshotStore
from tachograph.stores.backend import Backend
from tachograph.stream_processors import StatusAddress
from tachograph.stream_processors.fold import FoldSettings, run_fold


@pytest.fixture
def servers(tmp_path: Path) -> Topology:
    """Kafka and S3, empty."""
    return with_snapshots(topology(tmp_path))


def fleets(count: int, first: int = 0) -> list[bytes]:
    """The events of some runs."""
    return [payload for number in range(first, first + count) for payload in small_fleet(f"run-{number}", calls=4)]


def told(servers: Topology, payloads: list[bytes]) -> None:
    """The catalogue comes to what the log adds up to."""
    catalogue = Catalogue(servers)
    try:
        wait_until(lambda: plain(catalogue.look()) == plain(expected(payloads)), 30)
    finally:
        catalogue.close()


def test_findings_are_what_the_log_adds_up_to(servers: Topology) -> None:
    """And the offsets are committed behind them; snapshots hold the runs' states, pointers say where."""
    payloads = fleets(20)
    publish(servers, payloads)
    with folding(servers):
        wait_until(lambda: folded_to(servers) == len(payloads))
    told(servers, payloads)
    store = SnapshotStore(servers.bucket, "default")
    for run_id, state in states_of(payloads).items():
        kept = store.newest(run_id)
        assert kept is not None
        assert state_bytes(kept) == state_bytes(state)
    pointers = records(servers, "snapshots", 20)
    assert {record.key for record in pointers} == {f"run-{number}".encode() for number in range(20)}


def test_it_goes_on_where_it_ended(servers: Topology) -> None:
    """In the middle of runs, from their snapshots, beside another member of the group."""
    payloads = fleets(12)
    middle = len(payloads) // 2
    publish(servers, payloads[:middle])
    with folding(servers):
        wait_until(lambda: folded_to(servers) == middle)
    publish(servers, payloads[middle:])
    with folding(servers), folding(servers, name="other"):
        wait_until(lambda: folded_to(servers) == len(payloads))
    told(servers, payloads)


def test_disorder_is_put_in_order(servers: Topology) -> None:
    """Events that come twice, and streams of which a later event comes first."""
    payloads = fleets(6)
    mixed = [payloads[at ^ 1] if at ^ 1 < len(payloads) else payloads[at] for at in range(len(payloads))]
    publish(servers, [*mixed, *payloads[::3]])
    with folding(servers):
        wait_until(lambda: folded_to(servers) == len(mixed) + len(payloads[::3]))
    told(servers, payloads)


def test_poison_is_put_aside(servers: Topology) -> None:
    """With its reason and where it came from; the events around it are folded."""
    payloads = fleets(3)
    publish(servers, payloads[:10])
    bad = [
        (b"run-0", b"\0\0", [], 0),
        (b"run-1", None, [], 0),
        (b"run-9", payloads[0], [], 0),
        (None, payloads[0], [], 0),
    ]
    send(servers, bad)
    publish(servers, payloads[10:])
    with folding(servers):
        wait_until(lambda: folded_to(servers) == len(payloads) + len(bad))
    aside = records(servers, "quarantine", len(bad))
    assert len(aside) == len(bad)
    for record in aside:
        headers = dict(record.headers)
        assert headers["tacho-reason"]
        assert headers["tacho-source"].startswith(servers.events.encode())
    told(servers, payloads)


def test_a_late_event_is_found_in_the_archive(servers: Topology) -> None:
    """A run whose stream had a gap is folded again once the archive has what was missing."""
    payloads = fleets(4)
    late = payloads[5]
    publish(servers, [payload for payload in payloads if payload is not late])
    with archiving(servers), folding(servers):
        wait_until(lambda: folded_to(servers) >= 1)
        publish(servers, [late])
        wait_until(lambda: folded_to(servers) == len(payloads))
    told(servers, payloads)


def test_it_tells_how_it_is(servers: Topology) -> None:
    """On /healthz and /metrics; labels are none."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    publish(servers, fleets(2))
    with folding(servers, status=StatusAddress(port=port)):
        wait_until(lambda: folded_to(servers) > 0)
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz") as answer:
            assert answer.read() == b"ok\n"
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
            text = answer.read().decode()
    assert "tacho_fold_folded_total" in text
    assert "{" not in text


@pytest.mark.parametrize("services", [("kafka",), ("s3",)])
def test_it_says_what_is_not_set(servers: Topology, services: tuple[str, ...]) -> None:
    """Kafka and S3 are needed."""
    given = servers.backend
    backend = Backend(kafka=given.kafka if "kafka" in services else None, s3=given.s3 if "s3" in services else None)
    with pytest.raises(InvalidSetting, match="TACHO_S3_URL|TACHO_KAFKA_BOOTSTRAP"):
        run_fold(servers.directory, backend, threading.Event())


def test_bounds_are_positive() -> None:
    """Each is named."""
    with pytest.raises(InvalidSetting, match="idle_seconds"):
        FoldSettings(idle_seconds=0)
