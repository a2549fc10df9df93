"""The services that carry recorded events to a cluster, and set its topics up."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tachograph.core.ports._services import Progress


@dataclass(frozen=True, slots=True)
class Shipped:
    """What came of shipping, as far as it went."""

    events: int
    """Acknowledged by all replicas, from now on the cluster's."""
    bodies: int
    """Objects that are in S3, those that were there already included."""
    stuck: int
    """Events and bodies that could not be shipped; they stay in the spool and are named in its `stuck.jsonl`."""
    waiting_bytes: int
    """Of spools, not shipped yet."""
    spools: int
    """Looked after."""
    reason: str | None
    """Why something waits, where something does."""
    removed: int = 0
    """Spools that were shipped long enough ago and are in the archive."""

    @property
    def is_complete(self) -> bool:
        """Whether nothing waits."""
        return not self.waiting_bytes


class ShipService(Protocol):
    """Ship what dead processes left in a home."""

    def __call__(self, home: Path, seconds_max: float | None, progress: Progress) -> Shipped:
        """Ship to the servers that the environment names; give up after so many seconds, None: never."""
        ...


@dataclass(frozen=True, slots=True)
class TopicDifference:
    """A topic that is not set up as planned."""

    topic: str
    what: str
    """`partitions`, `replication`, or a property as Kafka names it; `topic` where it is not there."""
    planned: str
    found: str


@dataclass(frozen=True, slots=True)
class TopicReport:
    """What was made, and how the rest differs."""

    created: tuple[str, ...]
    drift: tuple[TopicDifference, ...]
    unchanged: tuple[str, ...]
    """Topics that were there as planned."""


class TopicsService(Protocol):
    """Make a cluster's topics, and tell how those that are there differ."""

    def __call__(self, config: Path | None, *, create: bool) -> TopicReport:
        """In the cluster that the environment names, with the numbers of a TOML file."""
        ...
