"""The catalogue of the archive tells what that of a home tells, and both together what each would."""

from __future__ import annotations

import tempfile
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from archived import fresh_bucket, records_of
from chains import Chain, Clock
from recorded_world import STEPS, World
from tachograph.core.causality import hlc_ms
from tachograph.core.errors import UnknownEffect, UnknownRun
from tachograph.schemas import decode_meta
from tachograph.stores import Catalogue, Home, LocalLog, SpoolWriter, SqliteCatalogue, UnionCatalogue
from tachograph.stores.archive import ArchiveCatalogue, ArchiveLog, UnionLog, write_segment
from tachograph.stores.s3 import Bucket

_tenants = count()


@pytest.fixture(scope="module")
def bucket(tmp_path_factory: pytest.TempPathFactory) -> Bucket:
    """A bucket for all examples; each has a tenant of its own."""
    return fresh_bucket(tmp_path_factory.mktemp("bucket"))


def _world(directory: Path, steps: list[tuple[str, int, int]]) -> tuple[Home, list[bytes]]:
    """A home in which all is over, and its events; the last of them comes two hours behind the others."""
    home = Home.open(directory / "home", create=True)
    world = World(home)
    for step in steps:
        world.take(*step)
    world.close()
    payloads = [stored.payload for run_id in home.log.run_ids() for stored in home.log.read_run(run_id)]
    newest = max((decode_meta(payload).hlc for payload in payloads), default=0)
    later = Chain("later", "run", Clock(hlc_ms(newest) + 7_200_000), digester=home.digester)
    payloads += [later.run_started(), later.run_finished()]
    with home.new_spool() as spool:
        spool.append(payloads[-2:])
    return home, payloads


def _assert_same(one: Catalogue, other: Catalogue) -> None:
    assert list(one.run_ids()) == list(other.run_ids())
    assert list(one.runs()) == list(other.runs())
    for run_id in one.run_ids():
        assert one.run(run_id) == other.run(run_id)
        assert list(one.effects(run_id)) == list(other.effects(run_id))
    for effect in one.effects():
        assert one.effect(effect.effect_id) == other.effect(effect.effect_id)
        assert one.state(effect.effect_id) == other.state(effect.effect_id)
        key = effect.idempotency_key or "none"
        assert one.find("default", effect.name, key) == other.find("default", effect.name, key)


@given(STEPS, st.integers(3, 40), st.data())
@settings(
    max_examples=15, deadline=None, suppress_health_check=list(HealthCheck), phases=(Phase.explicit, Phase.generate)
)
def test_every_catalogue_tells_the_same(
    bucket: Bucket, steps: list[tuple[str, int, int]], size: int, data: st.DataObject
) -> None:
    """Over the archive, and over a part of the events here and all of them there."""
    tenant = f"tenant-{next(_tenants)}"
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        home, payloads = _world(directory, steps)
        for start in range(0, len(payloads), size):
            write_segment(bucket, tenant, "tacho.events", 0, records_of(payloads[start : start + size], start))
        archive = ArchiveLog(bucket, tenant, directory / "archive.db")
        _assert_same(home.own_catalogue, ArchiveCatalogue(archive, archive))
        (directory / "part").mkdir()
        held = data.draw(st.integers(0, len(payloads)))
        with SpoolWriter(directory / "part") as writer:
            writer.append(payloads[:held])
        local = SqliteCatalogue(directory / "part.db", directory / "part")
        union = UnionLog(LocalLog(directory / "part", local), archive)
        _assert_same(home.own_catalogue, UnionCatalogue(local, ArchiveCatalogue(archive, union)))


def test_an_empty_archive_knows_nothing(bucket: Bucket) -> None:
    """The same errors as from a home."""
    archive = ArchiveLog(bucket, "nobody", ":memory:")
    catalogue = ArchiveCatalogue(archive, archive)
    assert list(catalogue.runs()) == []
    with pytest.raises(UnknownRun, match="'run-1'"):
        catalogue.run("run-1")
    with pytest.raises(UnknownEffect, match="there is none"):
        catalogue.effect("run-1/run#1.2")
    assert catalogue.find("default", "mail", "key") is None
