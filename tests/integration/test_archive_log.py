"""Runs read from segments in S3: every event once, both sides of a fork, no neighbours, other tenants never."""

from __future__ import annotations

import io
import random
from collections import Counter
from collections.abc import Sequence
from itertools import count
from pathlib import Path

import pytest
from avro.datafile import DataFileReader
from avro.io import DatumReader
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from archived import archive, fresh_bucket, record_of, records_of
from chains import Chain, Clock, small_fleet
from tachograph.core.errors import CorruptFrame, UnknownRun
from tachograph.schemas import HASH, read_container
from tachograph.stores import LocalLog, SpoolWriter
from tachograph.stores.archive import ArchiveLog, UnionLog, compact_run, segments_prefix, write_segment
from tachograph.stores.s3 import Bucket


@pytest.fixture
def bucket(tmp_path: Path) -> Bucket:
    """An empty bucket."""
    return fresh_bucket(tmp_path)


def _fleets(fleets: int, calls: int = 3) -> dict[str, list[bytes]]:
    clock = Clock()
    return {f"run-{number}": small_fleet(f"run-{number}", clock=clock, calls=calls) for number in range(fleets)}


def _interleaved(fleets: dict[str, list[bytes]], seed: int) -> list[bytes]:
    """All events, each run's in order."""
    rng = random.Random(seed)
    rest = {run_id: list(payloads) for run_id, payloads in fleets.items()}
    mixed: list[bytes] = []
    while rest:
        run_id = rng.choice(list(rest))
        mixed.append(rest[run_id].pop(0))
        if not rest[run_id]:
            del rest[run_id]
    return mixed


def _read(log: ArchiveLog | UnionLog, run_id: str) -> list[bytes]:
    return [stored.payload for stored in log.read_run(run_id)]


def test_runs_come_back_as_they_were_recorded(bucket: Bucket) -> None:
    """Oldest first, each in its order, wherever its events lie."""
    fleets = _fleets(7)
    archive(bucket, _interleaved(fleets, 1), size=13)
    log = ArchiveLog(bucket, "acme", ":memory:")
    assert list(log.run_ids()) == list(fleets)
    assert {run_id: _read(log, run_id) for run_id in fleets} == fleets


def test_a_run_that_is_not_there_is_told(bucket: Bucket) -> None:
    """With the nearest."""
    archive(bucket, small_fleet("run-1"))
    with pytest.raises(UnknownRun, match="Nearest: run-1"):
        ArchiveLog(bucket, "acme", ":memory:").read_run("run-2")


def test_segments_are_taken_in_as_they_come(bucket: Bucket, tmp_path: Path) -> None:
    """By every reader, from where it was, in the file of the home."""
    fleets = _fleets(2)
    log = ArchiveLog(bucket, "acme", tmp_path / "archive.db")
    assert log.run_ids() == []
    archive(bucket, fleets["run-0"])
    assert _read(log, "run-0") == fleets["run-0"]
    archive(bucket, fleets["run-1"], partition=3)
    again = ArchiveLog(bucket, "acme", tmp_path / "archive.db")
    assert [list(again.run_ids()), list(log.run_ids())] == [["run-0", "run-1"]] * 2


def test_a_run_is_read_without_its_neighbours(bucket: Bucket) -> None:
    """Of a thousand runs in a segment the blocks of one are fetched."""
    clock = Clock()
    fleets = {f"run-{number:03d}": small_fleet(f"run-{number:03d}", clock=clock, calls=5) for number in range(100)}
    (stored,) = archive(bucket, _interleaved(fleets, 2), size=10_000)
    counting = _Counting(bucket)
    log = ArchiveLog(counting, "acme", ":memory:")  # type: ignore[arg-type]
    log.refresh()
    counting.fetched = 0
    assert _read(log, "run-050") == fleets["run-050"]
    assert counting.fetched < stored.size / 4


class _Counting:
    """A bucket that counts what is read from it."""

    def __init__(self, bucket: Bucket) -> None:
        self._bucket = bucket
        self.fetched = 0

    def __getattr__(self, name: str) -> object:
        return getattr(self._bucket, name)

    def get_range(self, name: str, start: int, size: int) -> bytes | None:
        data = self._bucket.get_range(name, start, size)
        self.fetched += len(data or b"")
        return data


def test_overlapping_segments_count_once(bucket: Bucket) -> None:
    """As two processors write them when one takes over from the other."""
    payloads = small_fleet(calls=10)
    archive(bucket, payloads, size=7)
    archive(bucket, payloads, size=11)
    assert _read(ArchiveLog(bucket, "acme", ":memory:"), "run-1") == payloads


def test_both_sides_of_a_fork_of_history_are_there(bucket: Bucket) -> None:
    """Two events of one key with different hashes."""
    root = Chain("run-1", "run", Clock())
    payloads = [root.run_started(), root.call_started("a", {})]
    other = root.fork()
    payloads += [root.call_finished({"text": "one"}), other.call_finished({"text": "two"})]
    archive(bucket, payloads, size=3)
    assert Counter(_read(ArchiveLog(bucket, "acme", ":memory:"), "run-1")) == Counter(payloads)


def test_tenants_do_not_see_each_other(bucket: Bucket) -> None:
    """Whatever their names are made of."""
    tenants = ["a", "a/segments", "..", "a%2Fsegments"]
    for tenant in tenants:
        archive(bucket, small_fleet(f"run-of-{tenants.index(tenant)}"), tenant=tenant)
    for tenant in tenants:
        assert list(ArchiveLog(bucket, tenant, ":memory:").run_ids()) == [f"run-of-{tenants.index(tenant)}"]


def test_a_segment_that_lies_under_another_tenant_is_refused(bucket: Bucket) -> None:
    """Somebody has put it there."""
    (stored,) = archive(bucket, small_fleet(), size=100)
    data = bucket.get(stored.name)
    assert data is not None
    bucket.put_new(stored.name.replace("acme", "other"), data)
    log = ArchiveLog(bucket, "other", ":memory:")
    assert log.run_ids() == []
    ((_, reason),) = log.cache.damaged()
    assert "another tenant, 'acme'" in reason


def test_a_segment_is_written_once(bucket: Bucket) -> None:
    """The same records make the same bytes under the same name."""
    records = records_of(small_fleet())
    first = write_segment(bucket, "acme", "tacho.events", 0, records)
    again = write_segment(bucket, "acme", "tacho.events", 0, list(reversed(records)))
    assert first == again
    assert list(bucket.names(segments_prefix("acme"))) == [first.name]
    assert first.name == f"acme/segments/tacho.events/0/{0:020d}-{len(records) - 1:020d}-{first.name[-21:-5]}.avro"


def test_a_damaged_segment_is_mended_by_who_writes_it_again(bucket: Bucket) -> None:
    """Its name says which bytes are right."""
    records = records_of(small_fleet())
    stored = write_segment(bucket, "acme", "tacho.events", 0, records)
    whole = bucket.get(stored.name)
    bucket.mend(stored.name, b"damaged")
    write_segment(bucket, "acme", "tacho.events", 0, records)
    assert bucket.get(stored.name) == whole


def test_a_segment_explains_itself(bucket: Bucket) -> None:
    """Our reader of containers opens it, and anybody's Avro library."""
    payloads = [*small_fleet("run-b", calls=300), *small_fleet("run-a")]
    (stored,) = archive(bucket, payloads, size=10_000)
    data = bucket.get(stored.name)
    assert data is not None
    container = read_container(io.BytesIO(data))
    assert sorted(container.payloads) == sorted(payloads)
    assert container.manifest == {"kind": "segment", "partition": "0", "tenant": "acme", "topic": "tacho.events"}
    frames = list(DataFileReader(io.BytesIO(data), DatumReader()))
    assert sorted(frame["payload"] for frame in frames) == sorted(payloads)  # type: ignore[index,call-overload]


@pytest.mark.parametrize("damage", ["gone", "short", "changed"])
def test_damage_is_named_when_it_is_read(bucket: Bucket, damage: str) -> None:
    """With the segment."""
    (stored,) = archive(bucket, small_fleet(), size=100)
    log = ArchiveLog(bucket, "acme", ":memory:")
    log.refresh()
    data = bucket.get(stored.name)
    assert data is not None
    bucket.remove(stored.name)
    if damage != "gone":
        middle = len(data) - 200
        bucket.put_new(stored.name, data[:middle] + (b"" if damage == "short" else b"\xff" * 9 + data[middle + 9 :]))
    with pytest.raises(CorruptFrame, match=stored.name):
        _read(log, "run-1")


@pytest.mark.parametrize("data", [b"", b"Obj\x01", b"no container at all", bytes(200)], ids=len)
def test_what_is_no_segment_is_named(bucket: Bucket, data: bytes) -> None:
    """And keeps nobody from the others; it is looked at again until it can be read."""
    name = f"{segments_prefix('acme', 'tacho.events', 0)}{0:020d}-{1:020d}-00.avro"
    bucket.put_new(name, data)
    (whole,) = archive(bucket, small_fleet(), size=100)
    log = ArchiveLog(bucket, "acme", ":memory:")
    assert log.run_ids() == ["run-1"]
    ((damaged, reason),) = log.cache.damaged()
    assert damaged == name
    assert "the segment" in reason
    bucket.mend(name, bucket.get(whole.name) or b"")
    log.refresh()
    assert log.cache.damaged() == []


def test_a_late_segment_that_begins_earlier_is_found(bucket: Bucket, tmp_path: Path) -> None:
    """Its name sorts before one that is known already."""
    payloads = small_fleet(calls=20)
    log = ArchiveLog(bucket, "acme", tmp_path / "archive.db")
    write_segment(bucket, "acme", "tacho.events", 0, [record_of(payloads[20], 20)])
    log.refresh()
    write_segment(bucket, "acme", "tacho.events", 0, records_of(payloads[:40]))
    assert _read(log, "run-1") == payloads[:40]


def test_local_spools_and_the_archive_are_one_log(bucket: Bucket, tmp_path: Path) -> None:
    """What is in both counts once; runs are listed by their age."""
    fleets = _fleets(3)
    local = fleets["run-0"] + fleets["run-1"][4:]
    writer = SpoolWriter(tmp_path)
    writer.append(local)
    writer.close()
    archive(bucket, fleets["run-1"][:8] + fleets["run-2"], tenant="default")
    log = UnionLog(LocalLog(tmp_path), ArchiveLog(bucket, "default", ":memory:"))
    assert log.run_ids() == list(fleets)
    assert {run_id: _read(log, run_id) for run_id in fleets} == fleets
    with pytest.raises(UnknownRun, match="Nearest"):
        log.read_run("run-9")


def test_bytes_that_were_changed_in_one_place_are_not_hidden_by_the_other(bucket: Bucket, tmp_path: Path) -> None:
    """The same hash over other bytes is shown: verifying must see it."""
    payloads = small_fleet()
    changed = payloads[3][:-1] + bytes([payloads[3][-1] ^ 1])
    assert changed[HASH] == payloads[3][HASH]
    writer = SpoolWriter(tmp_path)
    writer.append([*payloads[:3], changed, *payloads[4:]])
    writer.close()
    archive(bucket, payloads, tenant="default")
    log = UnionLog(LocalLog(tmp_path), ArchiveLog(bucket, "default", ":memory:"))
    assert Counter(_read(log, "run-1")) == Counter([*payloads, changed])


def test_a_run_is_gathered_into_a_segment_of_its_own(bucket: Bucket, tmp_path: Path) -> None:
    """From then on one request reads it; what comes later is there, too, and nothing is gathered twice."""
    fleets = _fleets(3, calls=10)
    archive(bucket, _interleaved(fleets, 3), size=9)
    log = ArchiveLog(bucket, "acme", tmp_path / "archive.db")
    before = log.run_ids()
    assert len(log.cache.parts("run-1")) > 5
    stored = compact_run(bucket, log, "run-1")
    assert stored is not None
    assert (stored.runs, stored.events) == (1, len(fleets["run-1"]))
    for reader in (log, ArchiveLog(bucket, "acme", ":memory:")):
        assert {run_id: _read(reader, run_id) for run_id in fleets} == fleets
        assert [part.name for part in reader.cache.parts("run-1")] == [stored.name]
        assert reader.run_ids() == before
    assert compact_run(bucket, log, "run-1") is None
    late = Chain("run-1", "late", Clock(1_800_000_900_000)).agent_started()
    write_segment(bucket, "acme", "tacho.events", 0, [record_of(late, 999)])
    assert _read(log, "run-1") == [*fleets["run-1"], late]
    again = compact_run(bucket, log, "run-1")
    assert again is not None
    assert _read(ArchiveLog(bucket, "acme", ":memory:"), "run-1") == [*fleets["run-1"], late]
    with pytest.raises(UnknownRun):
        compact_run(bucket, log, "run-9")


_shared: list[Bucket] = []
_tenants = count()


@settings(
    max_examples=15, deadline=None, suppress_health_check=list(HealthCheck), phases=(Phase.explicit, Phase.generate)
)
@given(data=st.data())
def test_whatever_segments_hold_together_is_read_once(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Any cuts, overlaps, partitions and orders of writing; against the set of events."""
    if not _shared:
        _shared.append(fresh_bucket(tmp_path_factory.mktemp("bucket")))
    bucket = _shared[0]
    tenant = f"t-{next(_tenants)}"
    fleets = _fleets(data.draw(st.integers(1, 4)), calls=data.draw(st.integers(0, 4)))
    mixed = _interleaved(fleets, data.draw(st.integers(0, 99)))
    for _ in range(data.draw(st.integers(1, 3))):
        _store(bucket, tenant, mixed, data.draw(st.lists(st.integers(1, len(mixed)), max_size=4)))
    log = ArchiveLog(bucket, tenant, ":memory:")
    assert {run_id: _read(log, run_id) for run_id in log.run_ids()} == fleets


def _store(bucket: Bucket, tenant: str, payloads: Sequence[bytes], cuts: Sequence[int]) -> None:
    records = records_of(payloads)
    ends = sorted({*cuts, len(records)})
    for start, end in zip([0, *ends], ends, strict=False):
        write_segment(bucket, tenant, "tacho.events", 0, records[start:end])
