"""Exact replay from the log, verified: read, hash chain, digests, rehydration, the loop's hops, the verdict."""

from __future__ import annotations

import asyncio
import os

from bench._measure import Subject, fresh_directory, timed
from bench._payload import BATCHED_CALLS, SEQUENTIAL_CALLS
from bench.ours import _fleet
from tachograph.core.ports import ReplayOptions
from tachograph.core.redaction import NO_REDACTION
from tachograph.core.replay import VerdictStatus
from tachograph.producers import Recorder
from tachograph.replay_workers import replay
from tachograph.stores import Home

_BULK_RUNS = 100
_BULK_CALLS = 200


def sequential() -> Subject:
    """One call after another, through the service, in a child process."""
    return _subject(_fleet.sequential, SEQUENTIAL_CALLS)


def batched() -> Subject:
    """Ten concurrent calls at a time."""
    return _subject(_fleet.batched, BATCHED_CALLS)


def bulk_one() -> Subject:
    """A hundred runs of 200 calls, one after the other on one core."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])  # what this process starts stays there, too
    return _bulk(1)


def bulk_two() -> Subject:
    """The same over two processes, wherever they find room."""
    return _bulk(2)


def _bulk(jobs: int) -> Subject:
    home = fresh_directory() / "home"
    with Recorder(home, redaction=NO_REDACTION) as recorder:
        for _ in range(_BULK_RUNS):
            asyncio.run(recorder.record(_fleet.batched, _BULK_CALLS))
    run_ids = Home.open(home).log.run_ids()

    def replayed(_: int) -> None:
        for result in replay(home, run_ids, ReplayOptions(), jobs, lambda *_: None):
            if result.verdict.status is not VerdictStatus.REPRODUCED:
                raise AssertionError(result.verdict.status)

    return lambda _: timed(replayed, 1)


def _subject(entrypoint: object, calls: int) -> Subject:
    home = fresh_directory() / "home"
    recorder = Recorder(home, redaction=NO_REDACTION)
    asyncio.run(recorder.record(entrypoint, calls))  # type: ignore[arg-type]
    recorder.close()
    run_id = recorder.latest_run_id or ""

    def replayed(_: int) -> None:
        result = replay(home, [run_id], ReplayOptions(), 1, lambda *_: None)[0]
        if result.verdict.status is not VerdictStatus.REPRODUCED:
            raise AssertionError(result.verdict.status)

    # The whole service: opening the home, starting the child and ending it, too.
    return lambda _: {name: value / calls for name, value in timed(replayed, 1).items()}
