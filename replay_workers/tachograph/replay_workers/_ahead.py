"""What a replaying process imports ahead: modules of Tachograph that control logic imported in an attempt before.

They hold nothing that control logic changes for others: each attempt is a fork that finds them as they were imported.
Modules of control logic itself are imported anew in every attempt, under the guard.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path

_PREFIX = "tachograph."
_NAMES_BYTES_MAX = 32 * 1024
"""Stays below what a pipe takes without a reader."""


class Ahead:
    """Learns from every attempt which modules the next one will want."""

    def __init__(self) -> None:
        self._ours = set(sys.modules)
        self._names: list[str] = []
        self._read_fd, self._write_fd = os.pipe()
        os.set_blocking(self._read_fd, False)  # who writes may have died

    def told(self) -> None:
        """In an attempt's process: say what was imported."""
        new = [name for name in tuple(sys.modules) if name.startswith(_PREFIX) and name not in self._ours]
        os.write(self._write_fd, "\n".join(new).encode()[:_NAMES_BYTES_MAX])

    def learn(self) -> bool:
        """Import what the attempt that is over imported; whether anything is new."""
        try:
            names = os.read(self._read_fd, _NAMES_BYTES_MAX).decode(errors="replace").split()
        except BlockingIOError:
            return False
        before = len(self._names)
        for name in names:
            if name.startswith(_PREFIX) and name not in self._names:
                with contextlib.suppress(Exception):
                    importlib.import_module(name)
                    self._names.append(name)
        return len(self._names) > before

    def forget(self, directories: Sequence[str]) -> None:
        """In an attempt's process: import anew what its own directories may have another version of."""
        roots = [Path(directory) for directory in directories]
        if not any((root / "tachograph").is_dir() for root in roots):
            return
        for name in self._names:
            file = getattr(sys.modules.get(name), "__file__", None)
            if file is None or not any(Path(file).is_relative_to(root) for root in roots):
                sys.modules.pop(name, None)
