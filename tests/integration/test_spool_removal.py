"""Spools that the archive holds are removed after a time; nothing that a home could tell, or refuse, is lost by it."""

from __future__ import annotations

import os
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from cli import tacho
from removal import (
    TOPIC,
    acknowledged,
    archived,
    check,
    environment,
    looked_at,
    mails,
    recorded,
    refused,
    servers,
    spools,
    swept,
)
from tachograph.control._exit import ExitCode
from tachograph.core.canonical import JsonValue
from tachograph.core.effects import Ledger
from tachograph.core.errors import CorruptFrame, EffectAlreadyConfirmed, ReconciliationRequired
from tachograph.producers import Recorder
from tachograph.stores import Home, rebuild, verify_home
from tachograph.stores.backend import Backend
from tachograph.stores.s3 import Bucket
from tachograph.stores.shipping import Mark, Shipment, Stuck, mark_of


def _prepared(directory: Path) -> tuple[Path, Backend]:
    """Three spools that may go."""
    backend, home = servers(directory), directory / "home"
    recorded(home)
    acknowledged(home)
    archived(home, backend)
    return home, backend


def test_what_a_home_tells_stays_the_same(tmp_path: Path) -> None:
    """Runs, events, effects, verification, rebuilding, and what the ledger refuses, with the servers and without."""
    home, backend = _prepared(tmp_path)
    before = looked_at(home, backend)
    check(home, backend)
    assert swept(home, backend) == 3
    assert spools(home) == []
    assert not [path for path in (home / "log").iterdir() if path.name.startswith(".removed")]
    assert looked_at(home, backend) == before
    check(home, backend)
    assert swept(home, backend) == 0


@pytest.mark.parametrize(
    "command", ["runs", "show RUN", "timeline RUN", "state RUN", "effects", "verify", "replay RUN"]
)
def test_looking_commands_say_the_same(removed: Removed, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    """By settings alone, whether a run lies in a spool or in the archive only."""
    for name, value in environment(removed.backend).items():
        monkeypatch.setenv(name, value)
    words = [removed.run_id if word == "RUN" else word for word in command.split()]
    whole, without = (tacho("--home", str(home), "--json", *words) for home in (removed.whole, removed.without))
    assert without.code == whole.code != ExitCode.INTERNAL
    if command == "verify":  # it counts what lies in two places twice
        assert without.code == ExitCode.OK
    else:
        assert _steady(without.result) == _steady(whole.result)


@dataclass(frozen=True, slots=True)
class Removed:
    """The same home with its spools and without."""

    whole: Path
    without: Path
    backend: Backend
    run_id: str


@pytest.fixture(scope="module")
def removed(tmp_path_factory: pytest.TempPathFactory) -> Removed:
    """Made once: nobody writes into them."""
    home, backend = _prepared(tmp_path_factory.mktemp("homes"))
    shutil.copytree(home, home.with_name("whole"))
    assert swept(home, backend) == 3
    return Removed(home.with_name("whole"), home, backend, Home.open(home, backend=backend).log.run_ids()[1])


def _steady(result: JsonValue) -> JsonValue:
    """Without what tells of time, or of where an event lies."""
    if isinstance(result, dict):
        return {key: _steady(value) for key, value in result.items() if key not in {"seconds", "segments", "home"}}
    return [_steady(each) for each in result] if isinstance(result, list) else result


def test_a_decision_after_the_removal_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An UNKNOWN effect can be decided when its spool is gone, also when that of the decision is gone."""
    home, backend = _prepared(tmp_path)
    for name, value in environment(backend).items():
        monkeypatch.setenv(name, value)
    opened = Home.open(home, backend=backend)
    unknown = {row.idempotency_key: row.effect_id for row in opened.catalogue.effects() if row.state == "UNKNOWN"}
    assert swept(home, backend) == 3
    with Recorder(home) as recorder:
        recorder.reconcile(unknown["bob"], True, "asked the server", "ann")
        recorder.reconcile(unknown["carl"], False, "asked the server", "ann")
        with pytest.raises(EffectAlreadyConfirmed):
            recorder.record(mails, "ann")
    for round_ in range(2):
        ledger = Ledger("default", Home.open(home, backend=Backend()).past_effects_beside(()))
        with pytest.raises(EffectAlreadyConfirmed):
            ledger.admit("mail", "bob")
        ledger.admit("mail", "carl")
        if not round_:
            acknowledged(home)
            archived(home, backend)
            assert swept(home, backend) == 1
            rebuild(Home.open(home, backend=Backend()), check=False)


def test_who_looks_while_spools_are_removed_sees_nothing_of_it(tmp_path: Path) -> None:
    """Two remove at the same time; ledgers refuse at every moment, the catalogue and verification find a whole home."""
    home, backend = _prepared(tmp_path)
    run_ids = list(Home.open(home, backend=backend).log.run_ids())
    over = threading.Event()

    def refuses() -> int:
        times = 0
        while not over.is_set():
            for opened in (near, Home.open(home, backend=Backend())):
                with pytest.raises(ReconciliationRequired):
                    Ledger("default", opened.past_effects_beside(())).admit("mail", "bob")
                times += 1
        return times

    def verifies() -> int:
        times = 0
        while not over.is_set():
            opened = Home.open(home, backend=backend)
            assert [each for each in verify_home(opened).findings if each.severity == "damage"] == []
            assert [row.run_id for row in opened.catalogue.runs()] == run_ids
            times += 1
        return times

    near = Home.open(home, backend=Backend())
    with ThreadPoolExecutor(4) as pool:
        looking = [pool.submit(refuses), pool.submit(verifies)]
        removing = [pool.submit(swept, home, backend) for _ in range(2)]
        removed = sum(each.result() for each in removing)
        over.set()
        assert all(each.result() for each in looking)
    assert removed + swept(home, backend) == 3
    assert spools(home) == []
    check(home, backend)


def test_the_ledger_of_a_living_process_hears_of_it(tmp_path: Path) -> None:
    """A recorder that was there before the removal refuses afterwards what it refused before."""
    backend, home = servers(tmp_path), tmp_path / "home"
    with Recorder(home) as recorder:
        recorded(home)
        recorder.record(mails, "emil")
        recorder.flush()
        acknowledged(home)
        archived(home, backend)
        assert swept(home, backend) == 3
        with pytest.raises(ReconciliationRequired):
            recorder.record(mails, "bob")
        assert len(spools(home)) == 1
    refused(Home.open(home, backend=Backend()))


@pytest.mark.parametrize(
    "reason", ["young", "stuck", "unfinished", "elsewhere", "bodies", "held", "unset", "tenant", "unarchived"]
)
def test_a_spool_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reason: str) -> None:
    """Shipped too lately, something stuck or unacknowledged, shipped elsewhere, held by somebody, another's, not archived."""
    backend, home = servers(tmp_path), tmp_path / "home"
    with Recorder(home, tenant="acme" if reason == "tenant" else "default") as recorder:
        recorder.record(mails, "ann")
    acknowledged(home, "other.events" if reason == "elsewhere" else TOPIC)
    archived(home, backend, skip=1 if reason == "unarchived" else 0)
    shipment = Shipment(home / "log" / spools(home)[0], TOPIC)
    assert shipment.open()
    mark = mark_of(shipment.path, TOPIC)
    if reason == "stuck":
        shipment.add_stuck(Stuck("an event", "00", "too large"))
    if reason == "unfinished":
        shipment.save(replace(mark, is_done=False))
    if reason == "bodies":
        shipment.save(Mark(mark.position, 0, mark.events, is_done=True))
    if reason != "held":
        shipment.close()
    hours = {"young": 0.5, "unset": None}.get(reason, 0.0)
    assert swept(home, replace(backend, spool_keep_hours=hours)) == 0
    shipment.close()
    assert len(spools(home)) == 1
    if reason == "young":
        an_hour_ago = (home / "log" / spools(home)[0] / "shipped.json").stat().st_mtime - 3600
        os.utime(home / "log" / spools(home)[0] / "shipped.json", (an_hour_ago, an_hour_ago))
        assert swept(home, replace(backend, spool_keep_hours=0.5)) == 1


def test_a_run_that_is_not_known_to_have_died_stays(tmp_path: Path) -> None:
    """Its machine knows that it died; the others learn it when the log moves on. Until then the spool says more."""
    backend, home = servers(tmp_path), tmp_path / "home"
    recorded(home)
    acknowledged(home)
    archived(home, backend, moves_on=False)
    before = looked_at(home, backend)
    assert swept(home, backend) == 2
    assert looked_at(home, backend) == before
    check(home, backend)
    archived(home, backend)
    assert swept(home, backend) == 1


def test_an_archive_that_loses_what_it_had_is_told(tmp_path: Path) -> None:
    """Once the spool is gone the archive is all there is: verification misses what is missing there."""
    home, backend = _prepared(tmp_path)
    assert swept(home, backend) == 3
    assert backend.s3 is not None
    bucket = Bucket(backend.s3)
    for name in list(bucket.names("default/segments/")):
        bucket.remove(name)
    opened = Home.open(home, backend=backend)
    assert opened.archive is not None
    opened.archive.forget()
    findings = verify_home(opened).findings
    assert {finding.kind for finding in findings} == {"MISSING"}
    assert all("is not in the archive any more" in finding.sentence for finding in findings)
    assert len(findings) >= 3


def test_a_changed_remainder_is_told_and_not_believed(tmp_path: Path) -> None:
    """Whoever makes effects forgotten by changing what stays of a spool is told of; no effect leaves meanwhile."""
    home, backend = _prepared(tmp_path)
    assert swept(home, backend) == 3
    path = sorted((home / "log" / ".retired").iterdir())[1]
    path.write_bytes(path.read_bytes().replace(b"UNKNOWN", b"FAILED "))
    (home / "catalogue.db").unlink()
    opened = Home.open(home, backend=Backend())
    (finding,) = verify_home(opened).findings
    assert (finding.kind, finding.severity) == ("FRAME", "damage")
    with pytest.raises(CorruptFrame, match="restore it"):
        Ledger("default", opened.past_effects_beside(())).admit("mail", "bob")
