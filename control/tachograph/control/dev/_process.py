"""Processes by their id and the time of their start, so that nobody ever ends another one that got the same id."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tachograph.control.dev._sources import pause, seconds

_PAUSE_SECONDS = 0.02
_PROC = Path("/proc")
_LAUNCHER = Path(__file__).with_name("_launcher.py")


@dataclass(frozen=True, slots=True)
class Process:
    """A process, told apart from every other one of this machine."""

    pid: int
    started: str
    """The machine's start and the process's, in ticks since then: `BOOT/TICKS`."""


def spawn(command: Sequence[str], directory: Path, log: Path, environment: Mapping[str, str], *, tied: bool) -> Process:
    """Start a program in a session of its own, its output appended to `log`.

    A `tied` one dies with this process, whatever ends that; else it outlives it.
    """
    # The kernel ties a process to the thread that started it.
    assert not tied or threading.current_thread() is threading.main_thread()
    kind = "tied" if tied else "detached"
    launcher = [sys.executable, "-I", "-S", str(_LAUNCHER), kind, str(os.getpid()), str(directory), *command]
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        actions = [
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_DUP2, output, 1),
            (os.POSIX_SPAWN_DUP2, output, 2),
        ]
        pid = os.posix_spawn(sys.executable, launcher, dict(environment), file_actions=actions)
    finally:
        os.close(output)
    return identity(pid) or Process(pid, "ended")


def identity(pid: int) -> Process | None:
    """The process that has this id now; None: there is none, or only its exit code is left."""
    _reap(pid)
    try:
        fields = (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
        boot = (_PROC / "sys/kernel/random/boot_id").read_text().strip()
    except (FileNotFoundError, ProcessLookupError):
        return None
    # Fields 3 (state), 20 (num_threads) and 22 (starttime) of proc_pid_stat(5); the first two are cut off.
    state, threads, started = fields[0], int(fields[17]), fields[19]
    # The first thread may be gone while others still hold files and ports.
    is_over = state in {"Z", "X"} and threads <= 1
    return None if is_over else Process(pid, f"{boot}/{started}")


def is_alive(process: Process) -> bool:
    """Whether this very process runs."""
    return identity(process.pid) == process


def memory_bytes(process: Process) -> int:
    """Resident memory; 0 for one that has ended."""
    with suppress(FileNotFoundError, ProcessLookupError):
        for line in (_PROC / str(process.pid) / "status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
    return 0


def send(process: Process, number: signal.Signals) -> bool:
    """Send a signal to this very process; whether it was there."""
    try:
        descriptor = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return False
    try:
        # The descriptor holds on to one process: if that is the right one now, it stays so.
        if not is_alive(process):
            return False
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(descriptor, number)
        return True
    finally:
        os.close(descriptor)


def end(processes: Sequence[Process], seconds_max: float) -> None:
    """Ask processes to end, and kill those that have not after `seconds_max`."""
    for process in processes:
        send(process, signal.SIGTERM)
    _wait_for_end(processes, seconds_max)
    kill(processes)


def kill(processes: Sequence[Process]) -> None:
    """End processes at once, and wait until they are gone."""
    for process in processes:
        send(process, signal.SIGKILL)
    _wait_for_end(processes, 10.0)


def _wait_for_end(processes: Sequence[Process], seconds_max: float) -> None:
    deadline = seconds() + seconds_max
    while seconds() < deadline and any(map(is_alive, processes)):
        pause(_PAUSE_SECONDS)


def _reap(pid: int) -> None:
    """Let a child that has ended go; for another's child there is nothing to do."""
    with suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)
