"""From Kafka into S3 on real servers: every event once, poison aside, tenants apart, and what the auditor finds."""

from __future__ import annotations

import dataclasses
import socket
import threading
import urllib.error
import urllib.request
from collections import Counter
from pathlib import Path

import pytest

from archive_topology import (
    QUICK,
    Topology,
    archived,
    archiving,
    committed,
    findings,
    publish,
    records,
    send,
    topology,
    wait_until,
)
from chains import Chain, Clock, hashed, small_fleet
from tachograph.core.errors import InvalidSetting
from tachograph.core.findings import Condition, IntegrityFinding, SegmentFinding
from tachograph.schemas import HASH, decode, prefix_of
from tachograph.stores.backend import Backend
from tachograph.stores.s3 import S3Refused
from tachograph.stream_processors import StatusAddress
from tachograph.stream_processors.archive import ArchiveSettings, run_archive
from tachograph.stream_processors.fold import run_fold


@pytest.fixture
def servers(tmp_path: Path) -> Topology:
    """Kafka and S3, empty."""
    return topology(tmp_path)


def _of_tenant(payloads: list[bytes], tenant: str) -> list[bytes]:
    """The same fleet, of another tenant."""
    heads: dict[tuple[str, int], bytes] = {}
    made: list[bytes] = []
    renamed: dict[bytes, bytes] = {}
    for payload in payloads:
        event = decode(payload)
        causes = tuple(dataclasses.replace(cause, hash=renamed[cause.hash]) for cause in event.meta.causes)
        meta = dataclasses.replace(event.meta, tenant=tenant, causes=causes)
        key = (meta.agent_id, meta.incarnation)
        one = hashed(dataclasses.replace(event, meta=meta), heads.get(key, bytes(32)))
        heads[key] = renamed[payload[HASH]] = one[HASH]
        made.append(one)
    return made


def test_every_event_arrives_once(servers: Topology) -> None:
    """Under our own schema ids, grouped by run; offsets are committed behind them."""
    payloads = [payload for number in range(30) for payload in small_fleet(f"run-{number}", calls=4)]
    publish(servers, payloads)
    with archiving(servers):
        wait_until(lambda: committed(servers) == len(payloads))
    assert archived(servers) == Counter(payloads)
    found = findings(servers, 90)
    streams = [finding for finding in found if isinstance(finding, IntegrityFinding)]
    assert {finding.condition for finding in streams} == {Condition.INTACT}
    assert len({finding.key for finding in streams}) == 90
    segments = [finding for finding in found if isinstance(finding, SegmentFinding)]
    assert sum(segment.events for segment in segments) == len(payloads)


def test_registry_ids_are_mapped_back(tmp_path: Path) -> None:
    """What is archived does not depend on a registry."""
    servers = topology(tmp_path, services=("kafka", "s3", "registry"))
    payloads = small_fleet()
    publish(servers, payloads)
    with archiving(servers):
        wait_until(lambda: committed(servers) == len(payloads))
    assert archived(servers) == Counter(payloads)


def test_tenants_never_mix(servers: Topology) -> None:
    """Not in an object, not in a name."""
    both = small_fleet("run-1"), _of_tenant(small_fleet("run-1"), "acme/..")
    publish(servers, [payload for pair in zip(*both, strict=True) for payload in pair])
    with archiving(servers):
        wait_until(lambda: committed(servers) == 2 * len(both[0]))
    assert archived(servers) == Counter(both[0])
    assert archived(servers, "acme/..") == Counter(both[1])
    names = [name for name in servers.bucket.names("") if ".avro" in name]
    assert {name.split("/")[0] for name in names} == {"default", "acme%2F.."}


def test_poison_goes_to_quarantine_and_the_stream_goes_on(servers: Topology) -> None:
    """As it is, with the reason and where it came from."""
    payloads = small_fleet()
    event = decode(payloads[3])
    bad_id = hashed(dataclasses.replace(event, meta=dataclasses.replace(event.meta, run_id="../etc")), bytes(32))
    run = b"run-1"
    poison = [
        (b"k", None, [], 0),
        (b"k", b"no event", [], 0),
        (b"k", b"\0\0\xff\xff\xff" + bytes(80), [], 0),
        (b"k", prefix_of("CallStarted") + b"\xff" * 60, [], 0),
        (b"other-run", payloads[3], [], 0),
        (run, payloads[3], [("tacho-tenant", b"acme")], 0),
        (run, payloads[3], [("tacho-hash", b"00")], 0),
        (b"../etc", bad_id, [], 0),
        (run, payloads[3][:-1], [], 0),
    ]
    send(servers, poison)
    publish(servers, payloads)
    with archiving(servers):
        wait_until(lambda: committed(servers) == len(poison) + len(payloads))
    assert archived(servers) == Counter(payloads)
    aside = records(servers, "quarantine", len(poison))
    assert Counter(record.value for record in aside) == Counter(value for _, value, _, _ in poison)
    reasons = {record.value: dict(record.headers)["tacho-reason"].decode() for record in aside}
    assert "no value" in reasons[None]
    assert all(len(reason) > 10 for reason in reasons.values())
    sources = {dict(record.headers)["tacho-source"].decode() for record in aside}
    assert len(sources) == len(poison)
    assert all(source.startswith(f"{servers.events}/") for source in sources)


def test_the_auditor_tells_what_is_wrong(servers: Topology) -> None:
    """A gap, a fork, a change: and keeps every event of them."""
    clock = Clock()
    gapped = small_fleet("gapped", clock=clock)
    del gapped[4]
    forked = small_fleet("forked", clock=clock)
    root = Chain("forked", "run", clock)
    forked.append(root.run_started("other"))
    changed = small_fleet("changed", clock=clock)
    assert b'"ticket":0' in changed[3]
    changed[3] = changed[3].replace(b'"ticket":0', b'"ticket":7')
    whole = small_fleet("whole", clock=clock)
    payloads = [*gapped, *forked, *changed, *whole, *whole]
    publish(servers, payloads)
    with archiving(servers):
        wait_until(lambda: committed(servers) == len(payloads))
    worst: dict[str, Condition] = {}
    order = list(Condition)
    for finding in findings(servers, 12):
        if isinstance(finding, IntegrityFinding):
            known = worst.get(finding.run_id, Condition.INTACT)
            worst[finding.run_id] = max(known, finding.condition, key=order.index)
    assert worst == {
        "gapped": Condition.GAPPED,
        "forked": Condition.FORKED,
        "changed": Condition.BROKEN,
        "whole": Condition.INTACT,
    }
    assert archived(servers) == Counter([*gapped, *forked, *changed, *whole])


def test_a_restart_goes_on_where_it_was(servers: Topology) -> None:
    """The auditor, too: a stream over two lives is counted as one."""
    payloads = small_fleet(calls=20)
    publish(servers, payloads[:30])
    with archiving(servers):
        wait_until(lambda: committed(servers) == 30)
    publish(servers, payloads[20:])
    with archiving(servers):
        wait_until(lambda: committed(servers) == len(payloads) + 10)
    assert archived(servers) == Counter(payloads)
    latest = {finding.key: finding for finding in findings(servers, 4) if isinstance(finding, IntegrityFinding)}
    assert {finding.condition for finding in latest.values()} == {Condition.INTACT}
    assert sum(finding.events for finding in latest.values()) == len(payloads)


def test_closed_runs_are_gathered(servers: Topology) -> None:
    """Once the log's own time has moved on."""
    clock = Clock()
    payloads = small_fleet("old", clock=clock, calls=40)
    settings = dataclasses.replace(QUICK, segment_bytes=1500, batch_records=20, compact_segments=3)
    clock.ms += 2 * 3_600_000
    later = [payload for number in range(20) for payload in small_fleet(f"run-{number}", clock=clock)]
    publish(servers, payloads)
    with archiving(servers, settings):
        wait_until(lambda: committed(servers) == len(payloads))
        publish(servers, later)
        wait_until(lambda: any("/compacted/" in name for name in servers.bucket.names("default/segments/")))
        wait_until(lambda: committed(servers) == len(payloads) + len(later))
    assert archived(servers) == Counter([*payloads, *later])
    log = servers.log()
    log.refresh()
    assert len(log.cache.parts("old")) == 1


def test_what_is_held_is_stored_at_the_end(servers: Topology) -> None:
    """Before any bound is reached: a process that is asked to end leaves nothing behind."""
    payloads = small_fleet()
    publish(servers, payloads)
    status = StatusAddress(port=_free_port())
    with archiving(servers, dataclasses.replace(QUICK, segment_seconds=3600), status):
        wait_until(lambda: _metric(status, "tacho_archive_held_bytes") == sum(map(len, payloads)))
        assert committed(servers) == 0
        assert _ask(status, "/healthz") == "ok\n"
    assert archived(servers) == Counter(payloads)
    assert committed(servers) == len(payloads)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def _ask(status: StatusAddress, path: str) -> str:
    with urllib.request.urlopen(f"http://{status.host}:{status.port}{path}", timeout=10) as answer:
        return str(answer.read().decode())


def _metric(status: StatusAddress, name: str) -> float | None:
    try:
        lines = _ask(status, "/metrics").splitlines()
    except urllib.error.URLError:  # it does not listen yet
        return None
    return next(float(line.split()[1]) for line in lines if line.startswith(f"{name} "))


def test_a_refusal_ends_the_archive(servers: Topology) -> None:
    """At once: waiting changes nothing; nothing is committed."""
    publish(servers, small_fleet())
    assert servers.backend.s3 is not None
    refused = dataclasses.replace(servers.backend, s3=dataclasses.replace(servers.backend.s3, access_key="nobody"))
    with (
        pytest.raises(S3Refused, match="access is denied"),
        archiving(dataclasses.replace(servers, backend=refused)) as thread,
    ):
        wait_until(lambda: not thread.is_alive())
    assert committed(servers) == 0


def test_without_servers_there_is_no_archive(tmp_path: Path) -> None:
    """The setting that is missing is named."""
    with pytest.raises(InvalidSetting, match="TACHO_KAFKA_BOOTSTRAP"):
        run_archive(tmp_path, Backend(), threading.Event())
    with pytest.raises(InvalidSetting, match=r"archive\.segment_bytes"):
        ArchiveSettings(segment_bytes=0)


def test_a_bucket_that_is_missing_is_refused(servers: Topology) -> None:
    """Some servers would make one for whoever writes; what was committed over it, the right bucket would never get."""
    assert servers.backend.s3 is not None
    publish(servers, small_fleet())
    typo = dataclasses.replace(servers.backend, s3=dataclasses.replace(servers.backend.s3, bucket="no-such-bucket"))
    for run in (run_archive, run_fold):
        with pytest.raises(InvalidSetting, match=r"TACHO_S3_BUCKET = 'no-such-bucket': there is no such bucket"):
            run(servers.directory, typo, threading.Event())
    assert committed(servers) == 0
