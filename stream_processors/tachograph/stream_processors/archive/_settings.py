"""How the archive works: bounds, each with its reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tachograph.core.errors import InvalidSetting


@dataclass(frozen=True, slots=True)
class ArchiveSettings:
    """Bounds of an archive processor."""

    group: str | None = None
    """The consumer group: its members share the partitions. None: named after the topics."""
    segment_bytes: int = 16 << 20
    """A partition's events are stored once there are so many bytes: one request to S3, quick to read back."""
    segment_seconds: float = 30
    """Or once the oldest of them has waited so long."""
    held_bytes: int = 192 << 20
    """Of all partitions together; then the largest is stored before its time."""
    batch_records: int = 5_000
    """Read at a time; between two batches it is looked after everything else."""
    poll_seconds: float = 0.5
    """How long a batch is waited for."""
    fault_seconds: float = 120
    """How long a fault of S3 or Kafka is waited out before the process ends; below Kafka's max.poll.interval.ms."""
    pause_seconds: float = 1
    """Before the second attempt; twice as long before each further one, up to eight times."""
    flush_seconds: float = 30
    """How long Kafka may take to acknowledge quarantine and findings."""
    compact_segments: int = 0
    """A closed run in at least so many segments is gathered into one of its own; 0: none is."""
    stall_seconds: float = 300
    """Without progress for so long the process is not alive, and is ended."""

    def __post_init__(self) -> None:
        """Refuse what cannot be.

        Raises:
            InvalidSetting: a bound is not positive.
        """
        for name in _POSITIVE:
            if not getattr(self, name) > 0:
                raise InvalidSetting(f"archive.{name}", getattr(self, name), "it must be above 0")


_POSITIVE: Final = (
    "segment_bytes", "segment_seconds", "held_bytes", "batch_records", "poll_seconds", "fault_seconds",
    "pause_seconds", "flush_seconds", "stall_seconds",
)  # fmt: skip
