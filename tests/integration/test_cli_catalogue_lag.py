"""What the catalogue in Redis lacks, and what the auditor said of streams: people and programs are told."""

from __future__ import annotations

from pathlib import Path

import pytest

from archived import archive
from chains import Chain, Clock, small_fleet
from cli import tacho
from services import fresh_backend
from tachograph.control._exit import ExitCode
from tachograph.core.findings import Condition, IntegrityFinding
from tachograph.schemas import EffectState
from tachograph.stores import Home
from tachograph.stores.archive import ArchiveCatalogue
from tachograph.stores.backend import Backend
from tachograph.stores.redis import RedisCatalogue
from tachograph.stores.s3 import Bucket


@pytest.fixture
def backend(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Backend:
    """S3 and Redis, set in the environment; two runs are archived, one with an effect, and none is in Redis."""
    backend = fresh_backend(tmp_path, "s3", "redis")
    assert backend.s3 is not None
    assert backend.redis is not None
    for name, value in {
        "TACHO_S3_URL": backend.s3.url,
        "TACHO_S3_BUCKET": backend.s3.bucket,
        "TACHO_S3_ACCESS_KEY": backend.s3.access_key,
        "TACHO_S3_SECRET_KEY": backend.s3.secret_key.text,
        "TACHO_REDIS_URL": backend.redis.url.text,
        "TACHO_DIGEST_KEY_FILE": str(backend.digest_key_file),
    }.items():
        monkeypatch.setenv(name, value)
    clock = Clock()
    fleet = small_fleet("run-1", clock=clock)
    chain = Chain("run-2", "run", clock)
    paid = [chain.run_started(), chain.call_started("pay", key="k-1")]
    effect_id = chain.event_id
    for start, end in ((EffectState.PLANNED, EffectState.EXECUTING), (EffectState.EXECUTING, EffectState.UNKNOWN)):
        paid.append(chain.moved(effect_id, "pay", "k-1", start, end))
    archive(Bucket(backend.s3), [*fleet, *paid], tenant="default")
    Home.open(tmp_path / "home", create=True, backend=backend)
    return backend


def _catalogue(backend: Backend) -> RedisCatalogue:
    assert backend.redis is not None
    return RedisCatalogue(backend.redis, "default")


def _refill(home: Path, backend: Backend, run_ids: set[str]) -> None:
    opened = Home.open(home, backend=backend)
    assert opened.archive is not None
    found = ArchiveCatalogue(opened.archive, opened.archive).made_anew()
    _catalogue(backend).apply([finding for finding in found if finding.run_id in run_ids])


def test_a_catalogue_that_lags_is_told_of(tmp_path: Path, backend: Backend) -> None:
    """Empty or filled in part, until `tacho rebuild` has brought all back."""
    home = tmp_path / "home"
    assert "The catalogue is empty, the archive has 2 runs: `tacho rebuild`" in tacho("--home", home, "runs").out
    _refill(home, backend, {"run-1"})
    shown = " ".join(tacho("--home", home, "runs").out.split())
    assert "lags behind the archive: 1 archived runs are not in it" in shown
    assert "`tacho rebuild` brings all back" in shown
    assert "run-1" in shown
    listed = tacho("--home", home, "runs", "--json").result
    assert (len(listed["runs"]), listed["unlisted"]) == (1, 1)
    doctor = tacho("--home", home, "doctor", "--json")
    (check,) = [check for check in doctor.result["checks"] if check["name"] == "catalogue"]
    assert (doctor.code, check["ok"], check["found"]) == (
        ExitCode.LIMITED,
        False,
        "1 runs, 1 archived ones are not in it",
    )
    assert "`tacho rebuild`" in check["remedy"]
    assert tacho("--home", home, "rebuild").code == ExitCode.OK
    assert tacho("--home", home, "runs", "--json").result["unlisted"] == 0
    assert "lags" not in tacho("--home", home, "runs").out
    (check,) = [one for one in tacho("--home", home, "doctor", "--json").result["checks"] if one["name"] == "catalogue"]
    assert (check["ok"], check["found"]) == (True, "2 runs")


@pytest.mark.parametrize("condition", [one for one in Condition if one is not Condition.INTACT])
def test_what_the_auditor_said_is_shown(tmp_path: Path, backend: Backend, condition: Condition) -> None:
    """In a line of `show`, in the table of `runs`, and in both documents; of what is INTACT nothing is said."""
    home = tmp_path / "home"
    _refill(home, backend, {"run-1", "run-2"})
    intact = IntegrityFinding("run-2", "default", "run", 1, Condition.INTACT, 4, 4, (), 17)
    problem = IntegrityFinding("run-1", "default", "triage", 2, condition, 5, 6, ("4 is not there",), 12)
    assert _catalogue(backend).apply([intact, problem]) == 2
    shown = " ".join(tacho("--home", home, "show", "run-1").out.split())
    assert f"Auditor: triage#2 is {condition}, " in shown
    assert ": 4 is not there" in shown
    assert "Auditor" not in tacho("--home", home, "show", "run-2").out
    table = tacho("--home", home, "runs").out.splitlines()
    assert "AUDIT" in table[0]
    assert [line.endswith(condition.value) for line in table[1:3]] == [True, False]
    told = {"agent": "triage", "incarnation": 2, "condition": condition, "events": 5, "seq": 6}
    expected = [{**told, "problems": ["4 is not there"]}]
    assert tacho("--home", home, "show", "run-1", "--json").result["run"]["audit"] == expected
    listed = tacho("--home", home, "runs", "--json").result["runs"]
    assert [run["audit"] for run in listed] == [expected, []]


def test_what_was_done_elsewhere_is_a_past_effect(tmp_path: Path, backend: Backend) -> None:
    """Once the catalogue of all machines knows it."""
    home = Home.open(tmp_path / "home", backend=backend)
    assert home.past_effects.find("default", "pay", "k-1") is None
    _refill(home.path, backend, {"run-2"})
    found = home.past_effects.find("default", "pay", "k-1")
    assert found is not None
    assert (found.state, home.past_effects.state(found.effect_id)) == (EffectState.UNKNOWN, EffectState.UNKNOWN)
    assert home.past_effects.find("other", "pay", "k-1") is None
