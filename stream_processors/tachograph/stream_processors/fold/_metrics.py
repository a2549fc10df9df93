"""What the fold counts, for Prometheus. There are no labels but closed sets: no tenant, run or topic is one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge

from tachograph.stream_processors.fold._values import FoldStatistics

_TEXTS: Final = {
    "folded": "Records that were added",
    "poison": "Records that were set aside",
    "loaded": "Runs in memory",
    "away": "Runs that are not over and not in memory",
    "held": "Events that wait for those before them",
    "pending": "Runs that would have to be read again, in part, after a crash",
    "gaps": "How often events were folded without those before them",
    "restored": "Runs that were taken up from a snapshot",
    "refolded": "Runs that were folded from the archive",
    "snapshots": "Snapshots stored",
    "findings": "Findings published",
}
_NOW: Final = frozenset({"loaded", "away", "held", "pending"})
"""What is so now; the others only grow."""


class FoldMetrics:
    """The counters of one fold processor, in a registry of their own."""

    def __init__(self) -> None:
        self.registry: Final = CollectorRegistry()
        self.faults: Final = Counter(
            "tacho_fold_faults", "Attempts that failed by a fault of S3 or Kafka", registry=self.registry
        )
        self.lag: Final = Gauge(
            "tacho_fold_lag_records", "Records that were not read yet, of all partitions held", registry=self.registry
        )
        self._gauges = {
            name: Gauge(f"tacho_fold_{name}", text, registry=self.registry)
            for name, text in _TEXTS.items()
            if name in _NOW
        }
        self._counters = {
            name: Counter(f"tacho_fold_{name}", text, registry=self.registry)
            for name, text in _TEXTS.items()
            if name not in _NOW
        }

    def counted(self, before: FoldStatistics | None, after: FoldStatistics) -> None:
        """A partition moved on from one state of its counters to another."""
        for name, counter in self._counters.items():
            counter.inc(getattr(after, name) - (getattr(before, name) if before else 0))

    def holds(self, partitions: Iterable[FoldStatistics]) -> None:
        """What is in memory."""
        statistics = list(partitions)
        for name, gauge in self._gauges.items():
            gauge.set(sum(getattr(one, name) for one in statistics))
