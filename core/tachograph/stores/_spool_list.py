"""The list of spools that were ever made in a log, so that one that is gone is missed."""

from __future__ import annotations

import os
from pathlib import Path

from tachograph.stores._files import write_all

LIST_NAME = "spools"


def list_spool(log_directory: Path, name: str) -> None:
    """Add a spool to the list, durably.

    Raises:
        OSError: as the operating system gives it.
    """
    descriptor = os.open(log_directory / LIST_NAME, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        # One write to a file opened for appending: lines of several processes do not mix.
        write_all(descriptor, f"{name}\n".encode())
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def listed_spools(log_directory: Path) -> list[str]:
    """The names on the list; what a crash left unfinished at its end is not one."""
    try:
        text = (log_directory / LIST_NAME).read_text("ascii", errors="replace")
    except FileNotFoundError:
        return []
    whole, _, _ = text.rpartition("\n")
    return whole.split("\n") if whole else []
