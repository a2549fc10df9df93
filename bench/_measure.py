"""Runs subjects in processes of their own, interleaved, and compares medians."""

from __future__ import annotations

import atexit
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from time import perf_counter, process_time
from types import TracebackType

Figures = Mapping[str, float]
"""What one round of a subject measured, by name; times in microseconds for one operation."""

Subject = Callable[[int], Figures]
"""Performs `count` operations and measures them."""


def timed(work: Callable[[int], None], count: int) -> Figures:
    """CPU of all threads and wall time of one operation, microseconds."""
    cpu, wall = process_time(), perf_counter()
    work(count)
    return {
        "cpu_us": (process_time() - cpu) / count * 1e6,
        "wall_us": (perf_counter() - wall) / count * 1e6,
    }


def waits(work: Callable[[int], None], count: int) -> Figures:
    """What the calling thread waits for one operation: median and 99th percentile, microseconds."""
    spans: list[float] = []
    for index in range(count):
        started = perf_counter()
        work(index)
        spans.append((perf_counter() - started) * 1e6)
    spans.sort()
    return {"p50_us": spans[count // 2], "p99_us": spans[min(count - 1, count * 99 // 100)]}


def fresh_directory() -> Path:
    """An empty directory for a subject, which is gone when the benchmark is over."""
    return Path(tempfile.mkdtemp(prefix="bench-", dir=os.environ.get(_PLACE)))


_PLACE = "TACHOGRAPH_BENCH_PLACE"
"""Where subjects write: they are killed, so that what they leave is removed by the process that started them."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """One row: ours against one baseline."""

    work: str
    figure: str
    ours: str
    baseline: str
    bar: float
    """The ratio ours / baseline must not exceed it."""
    count: int
    stretch: float | None = None
    baseline_figure: str | None = None
    """The baseline's figure, where it is not the one of ours."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A measured row."""

    comparison: Comparison
    ours: float
    baseline: float

    @property
    def ratio(self) -> float:
        """Ours by the baseline: smaller is better."""
        return self.ours / self.baseline

    @property
    def holds(self) -> bool:
        """Whether the bar is reached."""
        return self.ratio <= self.comparison.bar


class Worker:
    """A subject in its own process, so that threads and imports of one do not burden another."""

    def __init__(self, subject: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bench._worker", subject],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parent.parent,
            env=_environment(),
        )

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()

    def round(self, count: int) -> Figures:
        """One round of `count` operations."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{count}\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the subject ended with exit code {self._process.wait()}")
        figures: Figures = json.loads(line)
        return figures


@cache
def _environment() -> dict[str, str]:
    """Sources are compiled once, as an installer does: what is measured is no compiler."""
    directory = tempfile.mkdtemp(prefix="bench-")
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment = kept | {"PYTHONPYCACHEPREFIX": f"{directory}/bytecode", _PLACE: directory}
    subprocess.run([sys.executable, "-c", _COMPILED], check=True, env=environment)
    return environment


_COMPILED = """
import compileall, tachograph
for root in tachograph.__path__:
    compileall.compile_dir(root, quiet=2)
"""


def measure(comparisons: list[Comparison], rounds: int, scale: float) -> list[Measured]:
    """Measure rows that share a subject together, round by round in turn; a subject does the largest count of its rows."""
    subjects = sorted({name for row in comparisons for name in (row.ours, row.baseline)})
    counts = {
        name: max((row.count for row in comparisons if row.ours == name), default=0)
        or max(row.count for row in comparisons if row.baseline == name)
        for name in subjects
    }
    workers = {name: Worker(name) for name in subjects}
    try:
        taken: dict[str, list[Figures]] = {name: [] for name in subjects}
        for turn in range(rounds + 1):
            for name, worker in workers.items():
                figures = worker.round(max(10, int(counts[name] * scale)))
                if turn:  # the first is a warm-up
                    taken[name].append(figures)
    finally:
        for worker in workers.values():
            worker.__exit__(None, None, None)
    return [
        Measured(
            row,
            _median(taken[row.ours], row.figure),
            _median(taken[row.baseline], row.baseline_figure or row.figure),
        )
        for row in comparisons
    ]


def _median(rounds: list[Figures], figure: str) -> float:
    return statistics.median(figures[figure] for figures in rounds)
