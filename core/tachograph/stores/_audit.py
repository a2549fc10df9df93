"""Who looked at what was sealed, when and why: lines of JSON that are only ever added to."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import orjson

from tachograph.core.errors import StoreUnavailable
from tachograph.stores._files import reason_of, sync_directory, write_all
from tachograph.stores._sources import now_us

_MODE = 0o600


@dataclass(frozen=True, slots=True)
class Access:
    """One look at raw bodies."""

    who: str
    event_id: str
    reason: str
    outcome: str
    """`shown`, or `refused: ` and why."""


class AuditLog:
    """An append-only file. Safe to use from several processes.

    Args:
        path: the file; made when it is first needed.
    """

    def __init__(self, path: Path) -> None:
        self.path: Final = path

    def append(self, access: Access) -> None:
        """Add a line, durably.

        Raises:
            StoreUnavailable: it could not be written; whoever asked must not be shown anything.
        """
        said = {"at_us": now_us(), "who": access.who, "event_id": access.event_id, "reason": access.reason}
        line = orjson.dumps(said | {"outcome": access.outcome}) + b"\n"
        try:
            if not self.path.parent.exists():
                self.path.parent.mkdir(exist_ok=True)
                sync_directory(self.path.parent.parent)
            self._write(line)
        except OSError as error:
            raise StoreUnavailable(str(self.path), reason_of(error)) from error

    def _write(self, line: bytes) -> None:
        is_new = not self.path.exists()
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, _MODE)
        try:
            write_all(descriptor, line)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        if is_new:
            sync_directory(self.path.parent)
