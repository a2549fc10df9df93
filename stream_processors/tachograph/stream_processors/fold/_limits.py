"""How much a fold holds, waits and lags: every limit of it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FoldLimits:
    """Limits of the fold of one partition."""

    snapshot_events_min: int = 5_000
    """A run is stored when it grew by so many events,"""
    snapshot_item_events: int = 50
    """and by so many for each thing that its state holds: what writing it down costs is spread over them, and what lies behind
    a snapshot does not grow with the run's length;"""
    snapshot_growth: int = 8
    """or by this part (an eighth) of what was stored, where that is less: a state that grows with its run is written some
    times over at most."""
    small_events_max: int = 2_000
    """A run that ended and is no larger is not stored: folding it again from the archive takes a hundredth of a second."""
    quiet_ms: int = 60_000
    """A run without an event for so long, in log time, is stored and put away."""
    over_ms: int = 3_600_000
    """Without one for so long, in log time, it counts as over, though it never ended."""
    behind_max: int = 200_000
    """Records that are read again after a crash at most: a run that would cost more is stored, with what is missing."""
    streams_max: int = 50_000
    """Streams of all runs in memory; a stream takes about 1 KiB, with its open calls. The runs that moved last stay."""
    held_max: int = 1_000
    """Events of one run that wait for those before them."""
    held_bytes_max: int = 64 * 1024 * 1024
    """The same of all runs, in bytes."""
    poison_max: int = 1_000
    """Records to be set aside before a checkpoint is asked for."""
    refolds_max: int = 6
    """How often a run with a gap is folded again from the archive; each time twice as many checkpoints are let pass."""
