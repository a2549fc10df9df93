"""Exact replay from the log, verified: read, hash chain, digests, rehydration, the loop's hops, the verdict."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from bench._measure import Figures, Subject
from bench.ours import _fleet
from tachograph.core.ports import ReplayOptions
from tachograph.core.redaction import NO_REDACTION
from tachograph.core.replay import VerdictStatus
from tachograph.producers import Recorder
from tachograph.replay_workers import replay

_CALLS = 10_000


def sequential() -> Subject:
    """One call after another, through the service, in a child process."""
    return _subject(_fleet.sequential)


def batched() -> Subject:
    """Ten concurrent calls at a time."""
    return _subject(_fleet.batched)


def _subject(entrypoint: object) -> Subject:
    home = Path(tempfile.mkdtemp(prefix="bench-replay-")) / "home"
    recorder = Recorder(home, redaction=NO_REDACTION)
    asyncio.run(recorder.record(entrypoint, _CALLS))  # type: ignore[arg-type]
    recorder.close()
    run_id = recorder.latest_run_id or ""

    def measured(_: int) -> Figures:
        result = replay(home, [run_id], ReplayOptions(), 1, lambda *_: None)[0]
        if result.verdict.status is not VerdictStatus.REPRODUCED:
            raise AssertionError(result)
        return {"wall_us": result.seconds / _CALLS * 1e6}

    return measured
