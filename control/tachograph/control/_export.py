"""Writing a run into one self-contained file."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written."""

    events: int
    bodies: int
    """Bodies kept apart from their events, in chunks."""
    bytes: int


def export_run(home: Home, run_id: str, target: Path) -> Exported:
    raise NotImplementedError
