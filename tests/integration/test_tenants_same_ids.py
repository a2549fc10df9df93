"""Two tenants whose runs have the same id: no answer mixes them, wherever their events lie."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import pytest

from archived import archive
from audits import head_of
from chains import Chain, Clock, hashed, small_fleet
from services import fresh_backend
from tachograph.core.causality import EventId
from tachograph.core.cut import Causality, Cut
from tachograph.core.integrity import PartitionAudit, StreamKey
from tachograph.core.state import Folding, empty, state_bytes
from tachograph.schemas import HASH, EffectState, decode, decode_meta
from tachograph.stores import Home, SpoolWriter, rebuild, state_at, state_from_snapshot, verify_home
from tachograph.stores.archive import ArchiveCatalogue
from tachograph.stores.backend import Backend
from tachograph.stores.redis import RedisCatalogue
from tachograph.stores.s3 import Bucket

RUN = "run-1"
TENANTS = ("acme", "globex")


def _of_tenant(payloads: Sequence[bytes], tenant: str) -> list[bytes]:
    """The same run, as another tenant would have recorded it."""
    heads: dict[tuple[str, int], bytes] = {}
    made: dict[EventId, bytes] = {}
    found: list[bytes] = []
    for payload in payloads:
        event = decode(payload)
        key = event.meta.agent_id, event.meta.incarnation
        causes = tuple(
            dataclasses.replace(one, hash=made[EventId(one.run_id, one.agent_id, one.incarnation, one.seq)])
            for one in event.meta.causes
        )
        meta = dataclasses.replace(event.meta, tenant=tenant, causes=causes)
        found.append(hashed(dataclasses.replace(event, meta=meta), heads.get(key, bytes(32))))
        heads[key] = made[EventId(meta.run_id, *key, meta.seq)] = found[-1][HASH]
    return found


def _paying(calls: int, end: EffectState) -> list[bytes]:
    """A run with one effect under a key that both tenants use."""
    clock = Clock()
    payloads = small_fleet(RUN, clock=clock, calls=calls)[:-3]
    chain = Chain(RUN, "payer", clock)
    payloads += [chain.agent_started(), chain.call_started("pay", key="k-1")]
    effect_id = chain.event_id
    for start, to in ((EffectState.PLANNED, EffectState.EXECUTING), (EffectState.EXECUTING, end)):
        payloads.append(chain.moved(effect_id, "pay", "k-1", start, to))
    return payloads


@pytest.fixture(scope="module")
def runs() -> dict[str, list[bytes]]:
    """A run of each tenant: other calls, another fate of the same effect."""
    acme = _paying(3, EffectState.UNKNOWN)
    return {
        "acme": _of_tenant(acme, "acme"),
        "globex": _of_tenant(_paying(6, EffectState.CONFIRMED), "globex"),
    }


@pytest.fixture(params=[("s3",), ("s3", "redis")], ids="-".join)
def backend(request: pytest.FixtureRequest, tmp_path: Path, runs: dict[str, list[bytes]]) -> Backend:
    """Both archived from one partition, with a snapshot of each and one audit of both; Redis filled, where it is used."""
    services: tuple[str, ...] = request.param
    backend = fresh_backend(tmp_path, *services)
    assert backend.s3 is not None
    bucket, audit = Bucket(backend.s3), PartitionAudit()
    for tenant, payloads in runs.items():
        archive(bucket, payloads, tenant=tenant)
        home = _home(backend, tmp_path, tenant)
        for payload in payloads:
            meta = decode_meta(payload)
            audit.add(StreamKey(tenant, RUN, meta.agent_id, meta.incarnation), head_of(payload), meta.hlc)
        folding = Folding(empty(RUN))
        for payload in payloads[:-4]:
            folding.add(payload)
        assert home.snapshots is not None
        home.snapshots.save(folding.state)
        assert home.archive is not None
        if backend.redis is not None:
            RedisCatalogue(backend.redis, tenant).apply(ArchiveCatalogue(home.archive, home.archive).made_anew())
    bucket.put_new("audit/tacho.events/0/00000000000000000099.json", audit.to_bytes())
    return backend


def _home(backend: Backend, directory: Path, tenant: str, name: str = "far") -> Home:
    return Home.open(directory / f"{name}-{tenant}", create=True, backend=backend, tenant=tenant)


def _end(known: Causality) -> Cut:
    return Cut({stream: known.last(stream) for stream in known.streams()})


def _read(home: Home) -> list[bytes]:
    return [stored.payload for stored in home.log.read_run(RUN)]


@pytest.mark.parametrize("tenant", TENANTS)
def test_whoever_asks_is_told_of_his_own_run(
    backend: Backend, tmp_path: Path, runs: dict[str, list[bytes]], tenant: str
) -> None:
    """Events, rows, effects, states at cuts, counts."""
    home, payloads = _home(backend, tmp_path, tenant), runs[tenant]
    expected = EffectState.UNKNOWN if tenant == "acme" else EffectState.CONFIRMED
    assert _read(home) == payloads
    (row,) = home.catalogue.runs()
    assert (row.tenant, row.events, home.catalogue.run(RUN)) == (tenant, len(payloads), row)
    (effect,) = home.catalogue.effects(RUN)
    assert (effect.tenant, effect.state) == (tenant, expected)
    found = home.past_effects.find(tenant, "pay", "k-1")
    assert found is not None
    assert found.state is expected
    assert home.past_effects.find(next(one for one in TENANTS if one != tenant), "pay", "k-1") is None
    quick = state_from_snapshot(home, RUN, None)
    assert quick is not None
    assert state_bytes(quick.runs[RUN]) == state_bytes(state_at(home.log, [RUN], _end).runs[RUN])
    assert quick.runs[RUN].tenant == tenant
    assert {decode_meta(payload).tenant for payload in payloads} == {tenant}
    assert rebuild(home, check=True).differences == ()
    assert {finding.kind for finding in verify_home(home).findings if finding.severity == "damage"} <= {"BODY_CHANGED"}


@pytest.mark.parametrize("tenant", TENANTS)
def test_what_lies_here_of_the_other_is_not_mixed_in(
    backend: Backend, tmp_path: Path, runs: dict[str, list[bytes]], tenant: str
) -> None:
    """A machine that recorded the other tenant's run under an id that was shipped by this one as well."""
    other = next(one for one in TENANTS if one != tenant)
    home = _home(backend, tmp_path, tenant, "mixed")
    with SpoolWriter(home.path / "log") as writer:
        writer.append(runs[other])
    expected = EffectState.UNKNOWN if tenant == "acme" else EffectState.CONFIRMED
    assert _read(home) == runs[tenant]
    (row,) = home.catalogue.runs()
    assert (row.tenant, row.events, home.catalogue.run(RUN)) == (tenant, len(runs[tenant]), row)
    (effect,) = home.catalogue.effects()
    assert (effect.tenant, effect.state) == (tenant, expected)
    assert home.catalogue.effect(effect.effect_id) == effect
    assert home.catalogue.state(effect.effect_id) is expected
    assert home.past_effects.state(effect.effect_id) is expected
    theirs = home.past_effects.find(other, "pay", "k-1")
    assert theirs is not None
    assert theirs.state is not expected
    beside = home.past_effects_beside(()).find(other, "pay", "k-1")
    assert beside == theirs
