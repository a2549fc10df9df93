"""Recorded events reach a real cluster as they were recorded: bodies first, in order, once; what cannot go is named."""

from __future__ import annotations

import os
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kafka_support import SECONDS_MAX, in_a_child, read_all
from services import fresh_backend
from shipping import (
    EVENTS,
    backend_at,
    check,
    events_topic,
    kafka_of,
    ledger_of,
    missing_bodies,
    record,
    shipped,
)
from tachograph.core.errors import InvalidSetting
from tachograph.producers import Recorder
from tachograph.producers._sources import SystemSources
from tachograph.producers.shipper import Shipper, _run, _transfer, ship
from tachograph.producers.shipper._run import Run
from tachograph.stores import DirectoryObjects, Home, LocalLog, verify_home
from tachograph.stores.backend import Backend, KafkaSettings
from tachograph.stores.kafka import TopicMissing, ensure_topics
from tachograph.stores.s3 import Bucket, S3Objects
from tachograph.stores.shipping import Shipment, stuck_of


def silent(_done: int, _all: int, _what: str) -> None:
    """Progress that nobody sees."""


def test_what_a_dead_process_left_is_shipped_once(tmp_path: Path) -> None:
    """Events with the registry's ids, bodies before them; the second time there is nothing left to ship."""
    backend, home = backend_at(tmp_path, "kafka", "s3", "registry"), tmp_path / "home"
    record(home, 3, 10, large=40_000).close()
    done = ship(home, backend, silent)
    ledger = ledger_of(home)
    assert (done.events, done.stuck, done.waiting_bytes, done.is_complete) == (len(ledger), 0, 0, True)
    check(home, backend, ledger)
    assert ship(home, backend, silent).events == 0
    assert backend.s3 is not None
    near, far = DirectoryObjects(home / "objects"), S3Objects(Bucket(backend.s3), "default")
    assert missing_bodies(shipped(backend, tmp_path), near, far) == []
    assert done.bodies == len(list(near.keys())) == len(list(far.keys())) > 30
    assert not verify_home(Home.open(home), None, silent).findings


def test_a_record_is_what_the_contract_says(tmp_path: Path) -> None:
    """Key: the run. Headers: tenant and hash. Time: the event's clock. Value: the payload, byte for byte."""
    backend, home = backend_at(tmp_path, "kafka"), tmp_path / "home"
    record(home, 1, 2).close()
    ship(home, backend, silent)
    log = LocalLog(home / "log")
    (run_id,) = log.run_ids()
    payloads = {stored.payload for stored in log.read_run(run_id)}
    for each in read_all(kafka_of(backend), events_topic(backend)):
        assert each.value in payloads
        assert each.key == run_id.encode()
        assert each.headers == (("tacho-tenant", b"default"), ("tacho-hash", each.value[5:37].hex().encode()))
        assert each.timestamp_ms == _hlc(each.value) >> 16


def _hlc(payload: bytes) -> int:
    from tachograph.schemas import decode_meta

    return decode_meta(payload).hlc


def test_a_living_process_ships_while_it_records(tmp_path: Path) -> None:
    """`drain` waits for what is there; nobody else ships its spool meanwhile; the end of the process ships the rest."""
    backend, home = backend_at(tmp_path, "kafka", "s3"), tmp_path / "home"
    recorder = record(home, 2, 20, large=20_000, ship=backend)
    assert recorder.shipper is not None
    drained = recorder.shipper.drain(SECONDS_MAX)
    assert drained.is_complete, drained
    assert drained.events == len(ledger_of(home)) == len(read_all(kafka_of(backend), events_topic(backend)))
    assert ship(home, backend, silent).spools == 0
    with recorder.run("later"):
        pass
    recorder.close()
    assert recorder.shipper.statistics().waiting_bytes == 0
    check(home, backend, ledger_of(home))
    before = recorder.shipper.statistics()
    with recorder.run("in a new spool") as run, run.agent("worker") as agent:
        agent.call(len, "x" * 20_000)
    recorder.close()
    check(home, backend, ledger_of(home))
    after = recorder.shipper.statistics()
    assert after.events == len(ledger_of(home)) > before.events
    assert after.bodies > before.bodies > 0


def test_settings_in_the_environment_make_a_recorder_ship(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With TACHO_KAFKA_BOOTSTRAP; without it nothing is shipped."""
    monkeypatch.setenv("TACHO_HOME", str(tmp_path / "home"))
    assert Recorder.from_env().shipper is None
    backend = backend_at(tmp_path, "kafka")
    monkeypatch.setenv("TACHO_KAFKA_BOOTSTRAP", kafka_of(backend).bootstrap)
    monkeypatch.setenv("TACHO_TOPIC_PREFIX", kafka_of(backend).topic_prefix)
    with Recorder.from_env() as recorder, recorder.run("shipped"):
        pass
    check(tmp_path / "home", backend, ledger_of(tmp_path / "home"))
    with pytest.raises(InvalidSetting, match="TACHO_KAFKA_BOOTSTRAP"):
        Shipper(tmp_path / "home", Backend())


def test_a_forked_child_ships_its_own(tmp_path: Path) -> None:
    """Parent and child each ship their spool, and nobody ships one twice."""
    backend, home = backend_at(tmp_path, "kafka"), tmp_path / "home"
    recorder = record(home, 1, 5, ship=backend)

    def work() -> None:
        with recorder.run("in the child"):
            pass
        recorder.close()

    assert recorder.shipper is not None
    assert recorder.shipper.drain(SECONDS_MAX).is_complete
    in_a_child(work)
    recorder.close()
    ledger = ledger_of(home)
    assert len({event_id.run_id for event_id in ledger}) == 2
    check(home, backend, ledger)


def test_only_one_ships_a_spool(tmp_path: Path) -> None:
    """Whoever comes second leaves it alone, and takes it when the first one is gone."""
    backend, home = backend_at(tmp_path, "kafka"), tmp_path / "home"
    record(home, 1, 5).close()
    (spool,) = LocalLog(home / "log").spools()
    first = Shipment(spool.path, events_topic(backend))
    assert first.open()
    done = ship(home, backend, silent)
    assert (done.events, done.is_complete) == (0, False)
    first.close()
    assert ship(home, backend, silent).is_complete
    check(home, backend, ledger_of(home))


def test_what_is_refused_is_named_and_the_others_go_on(tmp_path: Path) -> None:
    """Too large for the topic, before and after its limit was asked for: it stays in the spool, in a file, in a count."""
    backend, home = fresh_backend(tmp_path, "kafka"), tmp_path / "home"
    ensure_topics(kafka_of(backend), [replace(EVENTS, max_message_bytes=6000)])
    with Recorder(home) as recorder, recorder.run("mixed") as run, run.agent("worker") as agent:
        for index in range(30):
            agent.call(len, os.urandom(8000 if index % 10 == 3 else 10).hex())
    done = ship(home, backend, silent)
    assert done.stuck == 3
    assert done.is_complete
    (spool,) = LocalLog(home / "log").spools()
    stuck = stuck_of(spool.path)
    assert len(stuck) == 3
    assert all("more than the" in each.reason and len(each.hash) == 64 for each in stuck)
    check(home, backend, ledger_of(home))


class _Ahead(SystemSources):
    """The clock of a host on which somebody set it two hours ahead."""

    def now_us(self) -> int:
        return super().now_us() + 2 * 3_600_000_000


def test_a_host_whose_clock_is_ahead_ships(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Brokers take its times, from a topic that was set up as planned; nothing is stuck, and no record is looked for."""
    backend, home = backend_at(tmp_path, "kafka"), tmp_path / "home"
    monkeypatch.setattr(_transfer, "now_ms", lambda: _Ahead().now_us() // 1000)
    with Recorder(home, sources=_Ahead()) as recorder:
        for number in range(3):
            with recorder.run(f"run {number}") as run, run.agent("worker") as agent:
                agent.call(len, "ahead")
    done = ship(home, backend, silent)
    assert (done.events, done.stuck, done.is_complete) == (len(ledger_of(home)), 0, True)
    check(home, backend, ledger_of(home))
    an_hour_ahead = SystemSources().now_us() // 1000 + 3_600_000
    assert all(each.timestamp_ms > an_hour_ahead for each in read_all(kafka_of(backend), events_topic(backend)))


def test_a_spool_without_a_list_of_bodies_is_shipped_with_them(tmp_path: Path) -> None:
    """As an earlier release wrote it: the events tell, groups are opened."""
    backend, home = backend_at(tmp_path, "kafka", "s3"), tmp_path / "home"
    record(home, 1, 3, large=200_000).close()
    (spool,) = LocalLog(home / "log").spools()
    (spool.path / "bodies").unlink()
    ship(home, backend, silent)
    assert backend.s3 is not None
    near, far = DirectoryObjects(home / "objects"), S3Objects(Bucket(backend.s3), "default")
    assert missing_bodies(shipped(backend, tmp_path), near, far) == []
    assert len(list(far.keys())) == len(list(near.keys())) > 40


def test_a_body_that_is_gone_is_named(tmp_path: Path) -> None:
    """Its event is shipped all the same."""
    backend, home = backend_at(tmp_path, "kafka", "s3"), tmp_path / "home"
    record(home, 1, 1, large=40_000).close()
    gone = next(iter((home / "objects").glob("*/*")))
    gone.unlink()
    done = ship(home, backend, silent)
    assert done.stuck == 1
    (spool,) = LocalLog(home / "log").spools()
    assert [each.what for each in stuck_of(spool.path)] == [f"body {gone.parent.name}{gone.name}"]
    check(home, backend, ledger_of(home))


def test_a_damaged_frame_is_named_and_passed_over(tmp_path: Path) -> None:
    """The events around it arrive."""
    backend, home = backend_at(tmp_path, "kafka"), tmp_path / "home"
    record(home, 1, 10).close()
    ledger = ledger_of(home)
    (spool,) = LocalLog(home / "log").spools()
    segment = spool.path / "00000001.seg"
    data = bytearray(segment.read_bytes())
    data[len(data) // 2] ^= 1
    segment.write_bytes(data)
    done = ship(home, backend, silent)
    assert done.stuck == 1
    assert "damaged" in stuck_of(spool.path)[0].what
    assert done.events == len(ledger) - 1


def test_a_missing_topic_is_named(tmp_path: Path) -> None:
    """To whoever ships by hand at once; a recorder waits for it, and says so."""
    backend, home = fresh_backend(tmp_path, "kafka"), tmp_path / "home"
    record(home, 1, 1).close()
    with pytest.raises(TopicMissing, match="tacho topics ensure"):
        ship(home, backend, silent)
    recorder = record(tmp_path / "living", 1, 1, ship=backend)
    assert recorder.shipper is not None
    waiting = recorder.shipper.drain(1.0)
    assert not waiting.is_complete
    assert "there is no topic" in str(waiting.reason)
    ensure_topics(kafka_of(backend), [EVENTS])
    assert recorder.shipper.drain(SECONDS_MAX).is_complete
    recorder.close()
    check(tmp_path / "living", backend, ledger_of(tmp_path / "living"))


def test_a_first_connection_may_take_longer_than_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As with a registry that has no schemas yet: while servers answer, the end waits for it and ships."""
    backend, home = backend_at(tmp_path, "kafka"), tmp_path / "home"
    record(home, 1, 5).close()
    (spool,) = LocalLog(home / "log").spools()
    shipper, late, connect, connects = (
        Shipper(home, backend, exit_seconds=0.1),
        threading.Event(),
        _run.connect,
        Run.connects,
    )

    def connected_late(*arguments: Any) -> object:  # Any: whatever it takes
        late.wait(SECONDS_MAX)
        return connect(*arguments)

    def waited_for(run: Run, _seconds: float) -> bool:
        monkeypatch.setattr(shipper, "_exit_seconds", SECONDS_MAX)
        late.set()
        return connects(run, SECONDS_MAX)

    monkeypatch.setattr(_run, "connect", connected_late)
    monkeypatch.setattr(Run, "connects", waited_for)
    shipper.follow(spool.path)
    assert shipper.close().is_complete
    check(home, backend, ledger_of(home))


def test_what_is_left_is_said_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A recorder is closed by its user, and again as the process ends; the second time there is nothing new to say."""
    record(tmp_path, 1, 1).close()
    (spool,) = LocalLog(tmp_path / "log").spools()
    shipper = Shipper(tmp_path, Backend(kafka=KafkaSettings("127.0.0.1:1")), exit_seconds=0.0)
    shipper.follow(spool.path)
    assert not shipper.close().is_complete
    assert not shipper.close().is_complete
    assert len([said for said in caplog.messages if "bytes of spools are not shipped" in said]) == 1
