"""From a recorder on one machine over Kafka and S3 to a replay on another, with every server between."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from archive_topology import archived, archiving, committed, topology, wait_until
from cli import tacho
from cli_fleet import record
from tachograph.control._exit import ExitCode
from tachograph.producers.shipper import ship
from tachograph.stores import Home, verify_home
from tachograph.stores.archive import segments_prefix
from tachograph.stores.s3 import Bucket

FLEET = Path(__file__).parents[1]


def test_what_was_recorded_here_is_replayed_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Byte for byte the same events; verified, and reproduced exactly, by somebody who has nothing but the settings."""
    servers = topology(tmp_path, services=("kafka", "registry", "s3"))
    backend = servers.backend
    assert backend.digest_key_file is not None
    monkeypatch.setenv("TACHO_DIGEST_KEY_FILE", str(backend.digest_key_file))
    run_ids = asyncio.run(record(str(tmp_path / "near"), "ann@example.org", "dropped"))
    near = Home.open(tmp_path / "near")
    shipped = ship(tmp_path / "near", backend, lambda *_: None)
    with archiving(servers):
        wait_until(lambda: committed(servers) >= shipped.events)
    payloads = {run_id: [stored.payload for stored in near.log.read_run(run_id)] for run_id in run_ids}
    assert sorted(archived(servers).elements()) == sorted(payload for events in payloads.values() for payload in events)
    assert backend.s3 is not None
    for name, value in (
        ("TACHO_S3_URL", backend.s3.url),
        ("TACHO_S3_BUCKET", backend.s3.bucket),
        ("TACHO_S3_ACCESS_KEY", backend.s3.access_key),
        ("TACHO_S3_SECRET_KEY", backend.s3.secret_key.text),
    ):
        monkeypatch.setenv(name, value)
    far = Home.open(tmp_path / "far", create=True)
    assert far.catalogue.runs() == near.catalogue.runs()
    assert [finding for finding in verify_home(far).findings if finding.severity == "damage"] == []
    done = tacho("--home", tmp_path / "far", "replay", run_ids[1], "--code", FLEET, "--json")
    assert done.code == ExitCode.OK, done.err
    assert done.result["summary"]["reproduced"] == 1
    _is_told_what_is_gone(Bucket(backend.s3), tmp_path / "later")


def _is_told_what_is_gone(bucket: Bucket, home: Path) -> None:
    """A home that never saw the archive whole sees that somebody took of it: the auditor had counted more."""
    for name in list(bucket.names(segments_prefix("default"))):
        bucket.remove(name)
    Home.open(home, create=True)
    done = tacho("--home", home, "verify", "--json")
    assert done.code == ExitCode.DIFFERENT, done.out
    assert {finding["kind"] for finding in done.result["findings"]} == {"MISSING"}
    assert "a segment was removed" in done.result["findings"][0]["sentence"]
