"""One server: its command, its files, and how to tell that it does its work."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path

from tachograph.control.dev._errors import ServerFailed
from tachograph.control.dev._process import Process, is_alive, spawn
from tachograph.control.dev._sources import pause, seconds

_PAUSE_SECONDS = 0.05
READY_SECONDS_MAX = 180.0
"""The slowest of them needs 5 s on an idle machine, and a minute on one with ten times as much to do as it can."""
_LAST_LINES = 5
_LINE_CHARACTERS_MAX = 300


@dataclass(frozen=True, slots=True)
class Server:
    """A server, whether it runs or not."""

    name: str
    """As in `kafka-1`."""
    port: int
    """Where its clients connect."""
    directory: Path
    """Its data, settings and log."""
    command: Callable[[], tuple[str, ...]]
    """Program and arguments; fetches what is not there yet."""
    prepare: Callable[[], None]
    """Writes its settings, and makes its data directory where it has none yet."""
    probe: Callable[[], bool]
    """Whether it does its work; OSError: it does not answer."""
    variables: Mapping[str, str] = field(default_factory=dict[str, str])
    """Its environment, beside PATH and HOME."""

    @property
    def log(self) -> Path:
        """What it writes to its outputs."""
        return self.directory / "log.txt"

    def make_ready(self) -> None:
        """Write its files; takes seconds where a data directory must be formatted."""
        self.directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.prepare()

    def start(self, *, tied: bool) -> Process:
        """Start it; it does not do its work yet.

        Args:
            tied: it dies with this process.
        """
        # Nothing of the user's own environment and settings files decides how it works.
        environment = {"PATH": os.defpath, "HOME": str(self.directory), "LC_ALL": "C.UTF-8"} | dict(self.variables)
        return spawn(self.command(), self.directory, self.log, environment, tied=tied)

    def is_healthy(self) -> bool:
        """Whether it does its work right now."""
        try:
            return self.probe()
        except (OSError, HTTPException):
            return False

    def wait(self, process: Process, seconds_max: float = READY_SECONDS_MAX) -> None:
        """Wait until it does its work.

        Raises:
            ServerFailed: it has ended, or is not ready in time.
        """
        deadline = seconds() + seconds_max
        while not self.is_healthy():
            if not is_alive(process):
                raise ServerFailed(self.name, "ended while it started", str(self.log), self._last_words())
            if seconds() > deadline:
                reason = f"is not ready after {seconds_max:.0f} s"
                raise ServerFailed(self.name, reason, str(self.log), self._last_words())
            pause(_PAUSE_SECONDS)

    def _last_words(self) -> str:
        lines = self.log.read_text(errors="replace").splitlines() if self.log.exists() else []
        return " | ".join(line[:_LINE_CHARACTERS_MAX] for line in lines[-_LAST_LINES:])
