"""kill -9 of everybody on the way, at random moments, and members that come and go: nothing is lost, nothing comes twice."""

from __future__ import annotations

import itertools
import os
import random
import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from time import monotonic

import pytest

from pipeline import ROLES, SECONDS_MAX, Pipeline, drained, work
from services import fresh_backend, own_kafka
from tachograph.control.dev import _kafka
from tachograph.stores.backend import KafkaSettings
from tachograph.stores.kafka import Record
from tachograph.stream_processors.archive._processor import ArchiveProcessor
from tachograph.stream_processors.fold._processor import FoldProcessor

pytestmark = pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnhandledThreadExceptionWarning"  # aiokafka's thread, where a broker goes away while it stops
)

NIGHTLY = os.environ.get("TACHO_NIGHTLY") == "1"
ROUNDS = 12 if NIGHTLY else 2
PROCESS = Path(__file__).parents[1] / "pipeline_process.py"
QUICK_GROUPS = {
    "group.consumer.min.session.timeout.ms": "6000",
    "group.consumer.session.timeout.ms": "6000",
    "group.consumer.min.heartbeat.interval.ms": "1000",
    "group.consumer.heartbeat.interval.ms": "1000",
}
"""A member that was killed is missed after 6 seconds, not 45."""


@contextmanager
def quick_kafka(directory: Path) -> Generator[KafkaSettings]:
    """A broker that misses killed members soon."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_kafka, "BROKER_SETTINGS", {**_kafka.BROKER_SETTINGS, **QUICK_GROUPS})
        with own_kafka(directory) as cluster:
            yield cluster.settings


class Members:
    """Processes of a pipeline, none of which outlives the test."""

    def __init__(self, pipeline: Pipeline, stack: ExitStack) -> None:
        self._pipeline = pipeline
        self._stack = stack
        self._environment = {**os.environ, **pipeline.environment(), "PYTHONPATH": str(PROCESS.parent)}
        self.running: dict[str, subprocess.Popen[str]] = {}

    def start(self, role: str) -> subprocess.Popen[str]:
        """One of a role; returns when it works."""
        place = self._pipeline.home() if role in {"record", "ship"} else self._pipeline.directory / role
        command = [sys.executable, str(PROCESS), role, str(place), str(self._pipeline.ledger)]
        process = subprocess.Popen(command, env=self._environment, stdout=subprocess.PIPE, text=True)
        self._stack.enter_context(process)
        self._stack.callback(process.kill)
        assert process.stdout is not None
        assert process.stdout.readline(), f"{role} does not start"
        self.running[role] = process
        return process

    def kill(self, role: str) -> None:
        """With -9, wherever it is."""
        process = self.running.pop(role)
        process.kill()
        process.wait(30)

    def finish(self, role: str) -> str:
        """Let it come to its end by itself; the last line that it wrote."""
        said, _ = self.running.pop(role).communicate(timeout=120)
        return said.splitlines()[-1]

    def end(self, role: str) -> None:
        """In good order."""
        process = self.running.pop(role)
        process.terminate()
        assert process.wait(90) == 0, role


def test_everybody_is_killed_at_random(tmp_path: Path) -> None:
    """Recorder with its shipper, shipper of what it left, archive, fold, insights: again and again, then once to the end."""
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    with quick_kafka(tmp_path / "kafka") as kafka, ExitStack() as stack:
        backend = replace(fresh_backend(tmp_path, "registry", "s3", "redis"), kafka=kafka)
        pipeline = Pipeline(backend, tmp_path)
        members = Members(pipeline, stack)
        for role in ROLES:
            members.start(role)
        for _ in range(ROUNDS):
            members.start("record")
            for role in chance.sample(["record", *ROLES], 4):
                threading.Event().wait(chance.uniform(0, 1.5))
                members.kill(role)
                if role != "record":
                    members.start(role)
            members.start("ship")
            threading.Event().wait(chance.uniform(0, 0.5))
            members.kill("ship")
        members.start("ship")
        assert members.finish("ship") == "left 0"
        pipeline.check()
        for role in ROLES:
            members.end(role)


class Takers:
    """Which processors took records, of each kind: who takes some has partitions."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self._seen: dict[type, set[int]] = {}
        self._kept: list[object] = []
        for kind in (ArchiveProcessor, FoldProcessor):
            self._seen[kind] = set()
            patch.setattr(kind, "take", self._noting(kind, kind.take))

    def _noting(self, kind: type, take: Callable[..., None]) -> Callable[..., None]:
        def noting(processor: object, records: Sequence[Record]) -> None:
            if records and id(processor) not in self._seen[kind]:
                self._seen[kind].add(id(processor))
                self._kept.append(processor)  # or another would get its id
            take(processor, records)

        return noting

    def work_until(self, members: int, some: Callable[[], object]) -> None:
        """Until so many processors of each kind have taken records since the start."""
        end = monotonic() + SECONDS_MAX
        while any(len(seen) < members for seen in self._seen.values()):
            assert monotonic() < end, f"not {members} of each took records: {self._seen}"
            some()
            threading.Event().wait(0.3)


def test_members_come_and_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A storm of rebalances in every group while a fleet is recorded: everybody who comes gets a share, and gives it back."""
    pipeline, takers = Pipeline(fresh_backend(tmp_path), tmp_path), Takers(monkeypatch)
    numbers = itertools.count()
    with pipeline.processors(), pipeline.recorder() as recorder:

        def some() -> None:
            work(recorder, f"some {next(numbers)}")

        takers.work_until(1, some)
        for number in range(ROUNDS):
            with pipeline.processors("archive", "fold", name=f"second-{number}"):
                takers.work_until(2 + 2 * number, some)
                with pipeline.processors(name=f"third-{number}"):
                    takers.work_until(3 + 2 * number, some)
            work(recorder, f"one {number}", calls=40)
        assert drained(recorder)
        recorder.close()
        pipeline.check()
