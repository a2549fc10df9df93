"""What a cluster refused is tried again by itself, and arrives once it is taken; meanwhile the others go on."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import orjson
import pytest
from prometheus_client import CollectorRegistry

from archive_topology import wait_until
from kafka_support import SECONDS_MAX, set_limit
from services import fresh_backend
from shipping import EVENTS, backend_at, events_topic, kafka_of, ledger_of, missing_bodies, record, shipped
from tachograph.producers import Recorder
from tachograph.producers.shipper import _again, register_metrics, ship
from tachograph.schemas import decode_meta
from tachograph.stores import DirectoryObjects, LocalLog
from tachograph.stores.backend import Backend
from tachograph.stores.kafka import ensure_topics
from tachograph.stores.s3 import Bucket, S3Objects
from tachograph.stores.shipping import Stuck, stuck_of

LIMIT = 6000


def silent(_done: int, _all: int, _what: str) -> None:
    """Progress that nobody sees."""


def _narrow(directory: Path) -> Backend:
    """A cluster whose topic takes small events only."""
    backend = fresh_backend(directory, "kafka")
    ensure_topics(kafka_of(backend), [replace(EVENTS, max_message_bytes=LIMIT)])
    return backend


def _mixed(home: Path, calls: int, *, every: int) -> None:
    with Recorder(home) as recorder:
        for name in ("one", "two"):
            with recorder.run(name) as run, run.agent("worker") as agent:
                for index in range(calls):
                    agent.call(len, os.urandom(8000 if index % every == 3 else 10).hex())


def _stuck(home: Path) -> list[Stuck]:
    return [each for spool in LocalLog(home / "log").spools() for each in stuck_of(spool.path)]


def _seqs(payloads: Sequence[bytes]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for payload in payloads:
        meta = decode_meta(payload)
        found.setdefault(f"{meta.run_id}/{meta.agent_id}", []).append(meta.seq)
    return found


def test_a_raised_limit_lets_them_through(tmp_path: Path) -> None:
    """Not before; then each once, byte for byte, in the order of their streams; and nothing is named any more."""
    backend, home = _narrow(tmp_path), tmp_path / "home"
    _mixed(home, 400, every=20)
    ledger = ledger_of(home)
    first = ship(home, backend, silent)
    assert (first.stuck, first.events) == (40, len(ledger))
    assert {each.kind for each in _stuck(home)} == {"too_large"}
    before = shipped(backend, tmp_path)
    again = ship(home, backend, silent)
    assert (again.stuck, again.events, len(_stuck(home))) == (40, 0, 40)
    set_limit(kafka_of(backend), events_topic(backend), 1_000_000)
    done = ship(home, backend, silent)
    assert (done.stuck, done.events, done.is_complete, _stuck(home)) == (0, 40, True, [])
    after = shipped(backend, tmp_path)
    assert len(after) == len(set(after)) == len(ledger)
    late = _seqs([payload for payload in after if payload not in set(before)])
    assert len(late) == 2
    assert all(seqs == sorted(seqs) and len(seqs) == 20 for seqs in late.values())
    assert ship(home, backend, silent).spools == 0


def test_a_living_process_tries_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a pause, without a restart; its other runs are shipped meanwhile, and counters tell how many wait and why."""
    monkeypatch.setattr(_again, "PAUSE_SECONDS_MIN", 0.1)
    monkeypatch.setattr(_again, "PAUSE_SECONDS_MAX", 0.1)
    backend, home = _narrow(tmp_path), tmp_path / "home"
    with Recorder(home, ship=backend) as recorder:
        shipper = recorder.shipper
        assert shipper is not None
        registry = CollectorRegistry()
        register_metrics(shipper, registry)
        sample = _sampler(registry)
        with recorder.run("large") as run, run.agent("worker") as agent:
            agent.call(len, os.urandom(8000).hex())
        assert shipper.drain(SECONDS_MAX).is_complete
        statistics = shipper.statistics()
        assert (statistics.stuck, statistics.stuck_by_reason["too_large"]) == (1, 1)
        assert (sample("too_large"), sample("refused")) == (1, 0)
        with recorder.run("small"):
            pass
        assert shipper.drain(SECONDS_MAX).is_complete
        assert len(shipped(backend, tmp_path)) == len(ledger_of(home)) - 1
        set_limit(kafka_of(backend), events_topic(backend), 1_000_000)
        wait_until(lambda: not shipper.statistics().stuck)
        assert sample("too_large") == 0
        assert _stuck(home) == []
    assert len(set(shipped(backend, tmp_path))) == len(ledger_of(home))


def _sampler(registry: CollectorRegistry) -> Callable[[str], float | None]:
    return lambda reason: registry.get_sample_value("tacho_shipper_stuck", {"reason": reason})


def test_a_body_that_is_restored_is_carried(tmp_path: Path) -> None:
    """By whoever ships next."""
    backend, home = backend_at(tmp_path, "kafka", "s3"), tmp_path / "home"
    record(home, 1, 1, large=40_000).close()
    gone = next(iter((home / "objects").glob("*/*")))
    gone.rename(tmp_path / "aside")
    assert ship(home, backend, silent).stuck == 1
    assert [each.kind for each in _stuck(home)] == ["body_missing"]
    assert ship(home, backend, silent).stuck == 1
    (tmp_path / "aside").rename(gone)
    assert ship(home, backend, silent).stuck == 0
    assert _stuck(home) == []
    assert backend.s3 is not None
    near, far = DirectoryObjects(home / "objects"), S3Objects(Bucket(backend.s3), "default")
    assert missing_bodies(shipped(backend, tmp_path), near, far) == []


def test_lists_of_earlier_releases_are_read(tmp_path: Path) -> None:
    """They name neither kinds nor places: events are looked for from the beginning, damaged bytes are left alone."""
    backend, home = _narrow(tmp_path), tmp_path / "home"
    _mixed(home, 10, every=20)
    ship(home, backend, silent)
    (spool,) = LocalLog(home / "log").spools()
    old = [{"what": each.what, "hash": each.hash, "reason": each.reason} for each in _stuck(home)]
    damaged = {"what": "segment 1: the frame at byte 1 is damaged", "hash": "", "reason": "…"}
    (spool.path / "stuck.jsonl").write_bytes(b"".join(orjson.dumps(line) + b"\n" for line in [*old, damaged]))
    set_limit(kafka_of(backend), events_topic(backend), 1_000_000)
    done = ship(home, backend, silent)
    assert (done.events, done.stuck) == (2, 1)
    assert [each.kind for each in _stuck(home)] == ["damaged"]
    assert ship(home, backend, silent).spools == 0
