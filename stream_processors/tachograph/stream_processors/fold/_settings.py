"""How the fold works: bounds, each with its reason."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from tachograph.core.errors import InvalidSetting
from tachograph.stream_processors.fold._limits import FoldLimits


@dataclass(frozen=True, slots=True)
class FoldSettings:
    """Bounds of a fold processor."""

    group: str | None = None
    """The consumer group: its members share the partitions. None: named after the topics."""
    limits: FoldLimits = field(default_factory=FoldLimits)
    """Of each partition."""
    checkpoint_seconds: float = 5
    """A partition that moved is told, stored and committed so often: what the catalogue lags behind."""
    checkpoint_records: int = 100_000
    """Or after so many records."""
    idle_seconds: float = 30
    """A partition without a record for so long is stored, so that nothing of it has to be read again."""
    batch_records: int = 5_000
    """Read at a time; between two batches it is looked after everything else."""
    poll_seconds: float = 0.5
    """How long a batch is waited for."""
    fault_seconds: float = 120
    """How long a fault of S3 or Kafka is waited out before the process ends; below Kafka's max.poll.interval.ms."""
    pause_seconds: float = 1
    """Before the second attempt; twice as long before each further one, up to eight times."""
    flush_seconds: float = 30
    """How long Kafka may take to acknowledge findings and quarantine."""
    refresh_seconds: float = 5
    """How often, at most, it is looked for new segments of the archive."""
    savers: int = 8
    """Snapshots that are stored at once."""
    stall_seconds: float = 300
    """Without progress for so long the process is not alive, and is ended."""

    def __post_init__(self) -> None:
        """Refuse what cannot be.

        Raises:
            InvalidSetting: a bound is not positive.
        """
        for name in _POSITIVE:
            if not getattr(self, name) > 0:
                raise InvalidSetting(f"fold.{name}", getattr(self, name), "it must be above 0")


_POSITIVE: Final = (
    "checkpoint_seconds", "checkpoint_records", "idle_seconds", "batch_records", "poll_seconds", "fault_seconds",
    "pause_seconds", "flush_seconds", "refresh_seconds", "savers", "stall_seconds",
)  # fmt: skip
