"""The catalogue in Redis is made anew from the archive, to the same content; what differs is told."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from archived import archive
from chains import Clock, small_fleet
from services import fresh_backend
from tachograph.core.findings import Condition, IntegrityFinding
from tachograph.stores import Home, rebuild
from tachograph.stores.redis import RedisCatalogue
from tachograph.stores.s3 import Bucket


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A home whose runs are in the archive, with a catalogue in Redis that nobody has filled."""
    backend = fresh_backend(tmp_path, "s3", "redis")
    assert backend.s3 is not None
    clock = Clock()
    events = [payload for number in range(4) for payload in small_fleet(f"run-{number}", clock=clock)]
    archive(Bucket(backend.s3), events, tenant="default")
    return Home.open(tmp_path / "home", create=True, backend=backend)


def far(home: Home) -> RedisCatalogue:
    """The catalogue of all machines."""
    catalogue = home.catalogue.far  # type: ignore[union-attr]
    assert isinstance(catalogue, RedisCatalogue)
    return catalogue


def test_a_flushed_catalogue_is_filled_again(home: Home) -> None:
    """What a check misses is there after a rebuild, and a second check finds nothing."""
    missing = rebuild(home, check=True).differences
    assert [sentence for sentence in missing if sentence.startswith("runs: the archive gives run-")]
    assert far(home).runs() == []
    rebuild(home, check=False)
    assert rebuild(home, check=True).differences == ()
    assert [row.run_id for row in far(home).runs()] == [f"run-{number}" for number in range(4)]
    before = far(home).content()
    rebuild(home, check=False)
    assert far(home).content() == before


def test_what_the_archive_does_not_give_is_told_and_goes(home: Home) -> None:
    """A run that nobody archived, and a row that says something else."""
    rebuild(home, check=False)
    runs = list(far(home).run_findings())
    changed = replace(runs[0].row, name="another")
    far(home).apply([replace(runs[0], row=changed, position=replace(runs[0].position, events=99))])
    differences = rebuild(home, check=True).differences
    assert len(differences) == 1
    assert changed.run_id in differences[0]
    assert "another" in differences[0]
    rebuild(home, check=False)
    assert rebuild(home, check=True).differences == ()


def test_what_is_not_of_events_stays(home: Home) -> None:
    """A rebuild knows nothing of what an auditor said, and leaves it."""
    said = IntegrityFinding("run-1", "default", "mail", 1, Condition.GAPPED, 3, 4, ("event 2 is missing.",), 17)
    far(home).apply([said])
    rebuild(home, check=False)
    assert far(home).integrity("run-1") == [said]
