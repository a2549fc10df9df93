"""Verification of a recorded home, and the floor that the same bytes set."""

from __future__ import annotations

import asyncio
import hashlib
import io
from pathlib import Path

import fastavro

from bench._measure import Figures, Subject, fresh_directory, timed
from bench.ours import _fleet
from tachograph.core.redaction import NO_REDACTION
from tachograph.producers import Recorder
from tachograph.stores import Home, verify_home

_CALLS = 20_000


def recorded() -> tuple[Path, str]:
    """A home with one run of `_CALLS` calls."""
    home = fresh_directory() / "home"
    recorder = Recorder(home, redaction=NO_REDACTION)
    asyncio.run(recorder.record(_fleet.sequential, _CALLS))
    recorder.close()
    return home, recorder.latest_run_id or ""


def verify() -> Subject:
    """CPU of verifying one event: checksum, seal, chain, causes, digests of bodies."""
    path, _ = recorded()

    def work(_: int) -> None:
        home = Home.open(path)
        report = verify_home(home, None, lambda *_: None)
        if report.damaged:
            raise AssertionError(report.findings)

    events = _events(path)
    return lambda _: _per(timed(work, 1), events)


def hash_and_decode() -> Subject:
    """SHA-256 of the same payloads and fastavro's decode of the same records."""
    path, run_id = recorded()
    payloads = [stored.payload for stored in Home.open(path).log.read_run(run_id)]
    schemas = {payload[:5]: _schema(payload) for payload in payloads}

    def work(_: int) -> None:
        for payload in payloads:
            hashlib.sha256(payload).digest()
            fastavro.schemaless_reader(io.BytesIO(payload[5:]), schemas[payload[:5]], None)

    return lambda _: _per(timed(work, 1), len(payloads))


def _schema(payload: bytes) -> dict[str, object]:
    # Another package's private module: the floor must decode with the very schemas that the bytes were written with.
    from tachograph.schemas._registry import entry_of, schema_of

    return fastavro.parse_schema(schema_of(entry_of(int.from_bytes(payload[1:5], "big"))))


def _events(path: Path) -> int:
    home = Home.open(path)
    return sum(1 for run_id in home.log.run_ids() for _ in home.log.read_run(run_id))


def _per(figures: Figures, events: int) -> Figures:
    return {name: value / events for name, value in figures.items()}
