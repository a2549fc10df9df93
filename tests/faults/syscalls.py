"""Running a process under strace: counting its system calls, and making one of them fatal or fail."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

TESTS = Path(__file__).parent.parent

DURABLE_CALLS = ("write", "fsync", "fdatasync", "rename", "link", "unlink", "mkdir", "ftruncate")
"""Every call by which the stores change what is on the disk."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a process under strace ended."""

    returncode: int
    said: tuple[str, ...]
    """Lines of its standard output."""
    errors: str


def strace() -> str:
    """The path of strace."""
    found = shutil.which("strace")
    assert found is not None, "strace is needed to inject faults: install it with `apt-get install strace`"
    return found


def run(script: Path, *arguments: object, options: tuple[str, ...]) -> Outcome:
    """Run a script of the tests under strace."""
    environment = {**os.environ, "PYTHONPATH": str(TESTS), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [strace(), "-f", "-qq", *options, sys.executable, str(script), *map(str, arguments)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    return Outcome(done.returncode, tuple(done.stdout.splitlines()), done.stderr)


def traced(script: Path, *arguments: object, log: Path) -> tuple[Outcome, list[str]]:
    """Run without a fault; the calls that it made, descriptors with their paths."""
    calls = ",".join((*DURABLE_CALLS, "writev"))
    outcome = run(script, *arguments, options=("-y", "-e", f"trace={calls}", "-o", str(log)))
    return outcome, [line.split(maxsplit=1)[1] for line in log.read_text().splitlines()]


def swept(one: Callable[[int], bool]) -> int:
    """Call with 1, 2, 3, … until it says that the process had no more such calls; how many it had.

    Two at a time: how many calls there are depends on the key that a home gets.
    """
    with ThreadPoolExecutor(2) as pool:
        for first in itertools.count(1, 2):
            struck = list(pool.map(one, (first, first + 1)))
            if not all(struck):
                return first - 1 + struck.index(False)
    raise AssertionError


def killed_at(script: Path, *arguments: object, call: str, number: int) -> Outcome:
    """Run until the call of this number is about to be made; then SIGKILL."""
    options = ("-o", os.devnull, "-e", f"trace={call}", "-e", f"inject={call}:signal=KILL:when={number}")
    return run(script, *arguments, options=options)


def failing_at(script: Path, *arguments: object, call: str, error: str, number: int, onwards: bool = False) -> Outcome:
    """Run with this call failing once, or from then on."""
    when = f"{number}{'+' if onwards else ''}"
    options = ("-o", os.devnull, "-e", f"trace={call}", "-e", f"inject={call}:error={error}:when={when}")
    return run(script, *arguments, options=options)
