"""Looking for processes."""

from __future__ import annotations

from pathlib import Path


def pids_in(directory: Path) -> list[int]:
    """Processes that work in a directory or below it, or name it in their arguments (as one does that is just starting)."""
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and _belongs(entry, directory):
                found.append(int(entry.name))
        except OSError:  # it has ended, or is none of ours
            continue
    return found


def _belongs(entry: Path, directory: Path) -> bool:
    in_arguments = str(directory).encode() in (entry / "cmdline").read_bytes()
    return in_arguments or (entry / "cwd").readlink().is_relative_to(directory)
