"""Which topics there are, and how each is to be set up; a TOML file changes the numbers."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, cast

from tachograph.core.errors import InvalidSetting
from tachograph.stores.backend import KafkaSettings

_HOUR_MS: Final = 3_600_000
_DAY_HOURS: Final = 24

_ANY_TIME: Final = str(2**63 - 1)
"""How far from a broker's clock a record's time may be: a broker's own default, an hour ahead, would keep out all that a
host sends whose clock is wrong. Nothing is ordered by that time."""

EVENT_BYTES_MAX: Final = 17 * 1024 * 1024
"""A frame of a spool holds at most 16 MiB; so no event is too large for its topic, batch and record heads counted."""

RECORD_BYTES_MAX: Final = 1024 * 1024
"""What derived records may have: a broker's own default, in whole KiB."""


@dataclass(frozen=True, slots=True)
class TopicPlan:
    """How a topic is to be set up."""

    name: str
    """Without the prefix: `events`."""
    partitions: int
    retention_hours: int | None
    """How long records stay; None: the topic is compacted, the latest record of each key stays."""
    max_message_bytes: int = RECORD_BYTES_MAX
    replication: int | None = None
    """Copies of each record; None: three, or as many as there are brokers."""
    min_insync_replicas: int | None = None
    """Copies that must be there before a record is acknowledged; None: all but one, at least one."""

    def __post_init__(self) -> None:
        """Refuse what cannot be.

        Raises:
            InvalidSetting: names the number.
        """
        for name in _NUMBERS:
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InvalidSetting(f"topics.{self.name}.{name}", value, "it must be at least 1")
        if (self.min_insync_replicas or 0) > (self.replication or 3):
            reason = f"there are {self.replication or 3} copies of a record"
            raise InvalidSetting(f"topics.{self.name}.min_insync_replicas", self.min_insync_replicas, reason)

    def copies(self, brokers: int) -> int:
        """Copies of each record in a cluster of so many brokers."""
        return self.replication or min(3, brokers)

    def config(self, brokers: int) -> dict[str, str]:
        """The topic's properties, as Kafka names them, in a cluster of so many brokers."""
        held = self.min_insync_replicas or max(1, self.copies(brokers) - 1)
        kept = (
            {"cleanup.policy": "compact"}
            if self.retention_hours is None
            else {"cleanup.policy": "delete", "retention.ms": str(self.retention_hours * _HOUR_MS)}
        )
        return {
            **kept,
            "max.message.bytes": str(self.max_message_bytes),
            "message.timestamp.after.max.ms": _ANY_TIME,
            "message.timestamp.before.max.ms": _ANY_TIME,
            "min.insync.replicas": str(held),
        }


_NUMBERS: Final = ("partitions", "replication", "min_insync_replicas", "retention_hours", "max_message_bytes")

TOPICS: Final = (
    TopicPlan("events", 24, 7 * _DAY_HOURS, EVENT_BYTES_MAX),
    TopicPlan("quarantine", 6, 30 * _DAY_HOURS, EVENT_BYTES_MAX),
    TopicPlan("findings", 12, 7 * _DAY_HOURS),
    TopicPlan("signatures", 6, 30 * _DAY_HOURS),
    TopicPlan("effects", 12, None),
    TopicPlan("snapshots", 12, None),
    TopicPlan("replays", 6, 7 * _DAY_HOURS),
)
"""Every topic. Events and findings have the same key, a run's id, and need no common number of partitions."""


def topic_name(settings: KafkaSettings, name: str) -> str:
    """A topic's name in the cluster: `tacho.events` for `events`."""
    return f"{settings.topic_prefix}{name}"


def topic_plans(path: Path | None) -> tuple[TopicPlan, ...]:
    """The topics with the numbers of a TOML file.

    `[all]` holds numbers for every topic, `[events]` and so on for one: partitions, replication, min_insync_replicas,
    retention_hours, max_message_bytes.

    Raises:
        InvalidSetting: the file, a name or a number in it cannot be.
    """
    tables = {} if path is None else _tables(path)
    common = tables.pop("all", {})
    unknown = set(tables) - {plan.name for plan in TOPICS}
    if unknown:
        known = ", ".join(plan.name for plan in TOPICS)
        raise InvalidSetting("--config", str(path), f"{min(unknown)!r} is no topic: they are all, {known}")
    return tuple(_with(plan, {**common, **tables.get(plan.name, {})}) for plan in TOPICS)


def _with(plan: TopicPlan, numbers: Mapping[str, int]) -> TopicPlan:
    if plan.retention_hours is None and "retention_hours" in numbers:
        # A compacted topic keeps the latest of each key for ever: a common retention is not meant for it.
        numbers = {name: number for name, number in numbers.items() if name != "retention_hours"}
    return replace(plan, **numbers)  # type: ignore[arg-type]  # names and types were checked


def _tables(path: Path) -> dict[str, dict[str, int]]:
    try:
        read = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidSetting("--config", str(path), f"it must be a readable TOML file: {error}") from error
    return {name: _table(path, name, table) for name, table in read.items()}


def _table(path: Path, name: str, table: object) -> dict[str, int]:
    if not isinstance(table, dict):
        raise InvalidSetting("--config", str(path), f"{name!r} must be a table: [{name}]")
    numbers = cast("dict[str, object]", table)
    for key, value in numbers.items():
        if key not in _NUMBERS or not isinstance(value, int) or isinstance(value, bool):
            raise InvalidSetting(
                "--config", str(path), f"{name}.{key} must be a whole number, one of {', '.join(_NUMBERS)}"
            )
    return cast("dict[str, int]", numbers)
