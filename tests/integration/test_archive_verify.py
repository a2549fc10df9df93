"""Verifying an archive, and what its catalogue says of runs that never ended."""

from __future__ import annotations

import zlib
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from archived import archive, record_of
from audits import head_of
from chains import Chain, Clock, small_fleet
from services import fresh_backend
from tachograph.core.errors import CorruptPayload
from tachograph.core.findings import RunStatus, SegmentFinding
from tachograph.core.integrity import PartitionAudit, StreamKey
from tachograph.schemas import decode_meta
from tachograph.stores import Finding, FindingKind, Home, rebuild, verify_home
from tachograph.stores.archive import write_segment
from tachograph.stores.archive._avro import inflated_index, opening_of
from tachograph.stores.backend import RedisSettings, Secret
from tachograph.stores.redis import RedisCatalogue
from tachograph.stores.s3 import Bucket


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """An empty home on an empty archive."""
    backend = fresh_backend(tmp_path, "s3")
    return Home.open(tmp_path / "home", create=True, backend=backend, tenant="acme")


def _bucket(home: Home) -> Bucket:
    assert home.archive is not None
    return home.archive.bucket


def _fleet(home: Home, run_id: str = "run-1", clock: Clock | None = None) -> list[bytes]:
    return small_fleet(run_id, clock=clock, digester=home.digester)


def _damage(home: Home) -> list[Finding]:
    return [finding for finding in verify_home(home).findings if finding.severity == "damage"]


def test_a_whole_archive_verifies(home: Home) -> None:
    """Run by run."""
    payloads = _fleet(home) + _fleet(home, "run-2", Clock(1_800_000_500_000))
    archive(_bucket(home), payloads)
    report = verify_home(home)
    assert report.findings == ()
    assert (report.events, report.runs) == (len(payloads), 2)


def test_a_changed_event_is_found(home: Home) -> None:
    """Under an index and checksums that fit it: whoever changed it could make those."""
    payloads = _fleet(home)
    payloads[3] = payloads[3].replace(b'"ticket":0', b'"ticket":7')
    archive(_bucket(home), payloads)
    found = _damage(home)
    assert {finding.kind for finding in found} == {FindingKind.CHANGED, FindingKind.BODY_CHANGED}
    assert {finding.event_id for finding in found} == {"run-1/triage#1.2"}
    assert all(finding.path.startswith("acme/segments/") for finding in found)


def test_a_lost_event_is_found(home: Home) -> None:
    """Once nothing more of its run is expected."""
    payloads = _fleet(home)
    del payloads[4]
    archive(_bucket(home), payloads)
    assert [finding.kind for finding in _damage(home)] == [FindingKind.MISSING]


def test_a_fork_of_history_is_found(home: Home) -> None:
    """Both sides are there."""
    clock = Clock()
    root = Chain("run-1", "run", clock, digester=home.digester)
    first = [root.run_started()]
    other = root.fork()
    archive(_bucket(home), [*first, root.run_finished(), other.run_finished()])
    assert FindingKind.FORKED in {finding.kind for finding in _damage(home)}


@pytest.mark.parametrize(("damage", "at"), [("index", 60), ("block", -60)])
def test_a_damaged_segment_is_found(home: Home, damage: str, at: int) -> None:
    """Named, and the others are verified all the same."""
    archive(_bucket(home), _fleet(home, "run-2", Clock(1_700_000_000_000)), size=100)
    (broken,) = archive(_bucket(home), _fleet(home), size=100)
    data = _bucket(home).get(broken.name)
    assert data is not None
    start = at % len(data)
    _bucket(home).mend(broken.name, data[:start] + b"\xff" * 20 + data[start + 20 :])
    (found,) = _damage(home)
    assert broken.name in found.path
    assert found.kind is (FindingKind.HEADER if damage == "index" else FindingKind.FRAME)
    assert verify_home(home, ["run-2"]).findings == ()


def test_a_segment_that_was_removed_is_found(home: Home) -> None:
    """By whoever knew it."""
    (gone,) = archive(_bucket(home), _fleet(home), size=100)
    home.log.run_ids()
    _bucket(home).remove(gone.name)
    (found,) = _damage(home)
    assert gone.name in found.path
    assert "no longer there" in found.sentence


def test_a_segment_that_was_removed_before_is_found_by_what_the_auditor_counted(home: Home) -> None:
    """A home that comes later has never known it; whole runs may have lain there, and the ends of others."""
    bucket, payloads = _bucket(home), _fleet(home)
    stored = archive(bucket, payloads, size=6)
    audit = PartitionAudit()
    for payload in payloads:
        meta = decode_meta(payload)
        audit.add(StreamKey("acme", meta.run_id, meta.agent_id, meta.incarnation), head_of(payload), meta.hlc)
        audit.add(StreamKey("other", meta.run_id, meta.agent_id, 7), head_of(payload), meta.hlc)
    bucket.put_new("audit/tacho.events/0/00000000000000000099.json", audit.to_bytes())
    assert verify_home(home).findings == ()
    assert home.archive is not None
    home.archive.forget()
    bucket.remove(stored[-1].name)
    found = _damage(home)
    assert {finding.kind for finding in found} == {FindingKind.MISSING}
    assert "run-1/run#1.2" in {finding.event_id for finding in found}
    assert "acme/" not in "".join(finding.sentence for finding in found)
    assert verify_home(home, ["run-1"]).damaged


def test_a_segment_that_was_removed_before_is_found_by_the_catalogue(tmp_path: Path) -> None:
    """It was told of each; a catalogue that cannot be asked keeps nobody from verifying."""
    backend = fresh_backend(tmp_path, "s3", "redis")
    home = Home.open(tmp_path / "home", create=True, backend=backend, tenant="acme")
    stored = archive(_bucket(home), _fleet(home), size=100)
    assert backend.redis is not None
    told = [SegmentFinding(**asdict(one)) for one in stored]
    RedisCatalogue(backend.redis, "acme").apply(told)
    assert verify_home(home).findings == ()
    _bucket(home).remove(stored[0].name)
    later = Home.open(tmp_path / "later", create=True, backend=backend, tenant="acme")
    (found,) = _damage(later)
    assert (found.kind, found.path) == (FindingKind.SEGMENT_MISSING, stored[0].name)
    unheard = replace(backend, redis=RedisSettings(Secret("redis://127.0.0.1:1/0")))
    assert _damage(Home.open(tmp_path / "later", backend=unheard, tenant="acme")) == []


def test_a_run_that_never_ended_is_over_when_the_log_moved_on(home: Home) -> None:
    """An hour of the log's own time, whoever looks and whenever."""
    clock = Clock()
    archive(_bucket(home), _fleet(home, "run-1", clock)[:5])
    assert home.catalogue.run("run-1").status is RunStatus.RUNNING
    clock.ms += 3_700_000
    later = Chain("run-2", "run", clock, digester=home.digester).run_started()
    write_segment(_bucket(home), "acme", "tacho.events", 0, [record_of(later, 99)])
    assert home.catalogue.run("run-1").status is RunStatus.TRUNCATED
    assert [row.run_id for row in home.catalogue.runs()] == ["run-1", "run-2"]


def test_what_is_kept_of_the_archive_is_made_anew(home: Home) -> None:
    """By `rebuild`, as the error of a damaged file says."""
    archive(_bucket(home), _fleet(home))
    before = home.catalogue.runs()
    assert home.archive is not None
    home.archive.cache.database.close()
    (home.path / "archive.db").write_bytes(b"no database at all, but long enough to be taken for one" * 40)
    rebuild(home, check=False)
    assert home.catalogue.runs() == before


def test_an_index_is_not_decompressed_without_an_end(home: Home) -> None:
    """A few bytes can say a gigabyte."""
    bomb = zlib.compress(bytes(100 << 20))
    with pytest.raises(CorruptPayload, match="more than"):
        inflated_index(bomb, "name")
    (stored,) = archive(_bucket(home), _fleet(home), size=100)
    data = _bucket(home).get(stored.name)
    assert data is not None
    assert opening_of(data, stored.name).index_size < 2000


@pytest.mark.parametrize("data", [b"", b"\x00", b"Obj\x01\x0a"], ids=len)
def test_an_opening_that_is_none_is_refused(data: bytes) -> None:
    """Before anything is fetched on its word."""
    with pytest.raises(CorruptPayload, match="does not begin as one"):
        opening_of(data, "name")
