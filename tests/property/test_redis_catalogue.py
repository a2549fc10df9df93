"""The catalogue in Redis tells what the one in SQLite tells, however findings arrive, and again after a flush."""

from __future__ import annotations

import os
import random
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recorded_world import STEPS, World
from services import fresh_backend
from tachograph.core.errors import UnknownEffect, UnknownRun
from tachograph.core.findings import Finding, findings_of
from tachograph.core.state import empty, fold
from tachograph.schemas import decode
from tachograph.stores import Catalogue, Home, SqliteCatalogue
from tachograph.stores.redis import RedisCatalogue

EXAMPLES = 500 if os.environ.get("TACHO_NIGHTLY") == "1" else 40


@pytest.fixture(scope="module")
def catalogue(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisCatalogue]:
    """An empty catalogue on a real server."""
    backend = fresh_backend(tmp_path_factory.mktemp("redis"), "redis")
    assert backend.redis is not None
    found = RedisCatalogue(backend.redis, "default")
    yield found
    found.close()


def findings(home: Home, rng: random.Random) -> list[Finding]:
    """What a fold of the home's log finds, at the end of each run and at some places before."""
    found: list[Finding] = []
    for run_id in home.log.run_ids():
        state = empty(run_id)
        for stored in home.log.read_run(run_id):
            event = decode(stored.payload)
            state.tenant = state.tenant or event.meta.tenant
            fold(state, event)
            if rng.random() < 0.2:
                found += findings_of(state, over=False)
        found += findings_of(state, over=True)
    return found


def assert_tells_the_same(one: Catalogue, other: Catalogue) -> None:
    """Whatever is asked, the two catalogues answer alike."""
    assert list(one.run_ids()) == list(other.run_ids())
    assert list(one.runs()) == list(other.runs())
    for run_id in one.run_ids():
        assert one.run(run_id) == other.run(run_id)
        assert list(one.effects(run_id)) == list(other.effects(run_id))
    assert list(one.effects()) == list(other.effects())
    for effect in one.effects():
        assert one.effect(effect.effect_id) == other.effect(effect.effect_id)
        assert one.state(effect.effect_id) == other.state(effect.effect_id)
        key = effect.idempotency_key or "none"
        assert one.find("default", effect.name, key) == other.find("default", effect.name, key)
        assert one.find("acme", effect.name, key) is None
        assert other.find("acme", effect.name, key) is None


@given(STEPS, st.randoms(use_true_random=False))
@settings(
    print_blob=True, max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_both_catalogues_tell_the_same(
    catalogue: RedisCatalogue, steps: list[tuple[str, int, int]], rng: random.Random
) -> None:
    """In any order, with findings twice and older ones last; a flushed server is filled to the same content."""
    with tempfile.TemporaryDirectory() as directory:
        home = Home.open(Path(directory) / "home", create=True)
        world = World(home)
        for step in steps:
            world.take(*step)
        world.close()
        known = findings(home, rng)
        catalogue.clear()
        rng.shuffle(known)
        catalogue.apply([*known, *rng.sample(known, len(known) // 2)])
        sqlite: SqliteCatalogue = home.catalogue
        assert_tells_the_same(sqlite, catalogue)
        before = catalogue.content()
        catalogue.clear()
        assert catalogue.content() == {}
        rng.shuffle(known)
        catalogue.apply(known)
        assert catalogue.content() == before
        for row in catalogue.runs():
            assert {hit.name for hit in catalogue.hits(row.run_id)} == set(row.signatures)
        assert {row.name: row.runs for row in catalogue.signatures()} == Counter(
            name for row in catalogue.runs() for name in row.signatures
        )


def test_an_empty_catalogue_knows_nothing(catalogue: RedisCatalogue) -> None:
    """The same errors as from a home."""
    catalogue.clear()
    assert list(catalogue.runs()) == []
    with pytest.raises(UnknownRun, match="'run-1'"):
        catalogue.run("run-1")
    with pytest.raises(UnknownEffect, match="there is none"):
        catalogue.effect("run-1/run#1.2")


def test_tenants_never_mix(catalogue: RedisCatalogue, tmp_path: Path) -> None:
    """Names that look like each other's beginnings or patterns stay apart; a foreign finding is refused."""
    backend = fresh_backend(tmp_path, "redis")
    assert backend.redis is not None
    home = Home.open(tmp_path / "home", create=True)
    world = World(home)
    for step in [("run", 0, 0), ("effect", 0, 0), ("end", 0, 0), ("close", 0, 0)]:
        world.take(*step)
    world.close()
    known = findings(home, random.Random(1))
    mine = RedisCatalogue(backend.redis, "default")
    mine.apply(known)
    for tenant in ("default*", "defaul?", "default}:x", "[d]efault", ""):
        other = RedisCatalogue(backend.redis, tenant)
        assert other.content() == {}
        with pytest.raises(Exception, match="belongs to tenant 'default'"):
            other.apply(known)
        other.clear()
    assert len(mine.runs()) == len(list(home.log.run_ids()))
