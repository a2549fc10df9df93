"""What the archive counts, for Prometheus. Labels are closed sets: no tenant, run or topic is one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge

from tachograph.core.integrity import Verdict
from tachograph.stores.archive import StoredSegment
from tachograph.stream_processors.archive._screen import PoisonKind


class ArchiveMetrics:
    """The counters of one archive processor, in a registry of their own."""

    def __init__(self) -> None:
        self.registry: Final = CollectorRegistry()
        records = Counter("tacho_archive_records", "Events by what they are", ["verdict"], registry=self.registry)
        self._records = {verdict: records.labels(verdict.value) for verdict in Verdict}
        poison = Counter("tacho_archive_quarantined", "Records put aside", ["reason"], registry=self.registry)
        self.quarantined: Final = {kind: poison.labels(kind.value) for kind in PoisonKind}
        self.faults: Final = self._counter("faults", "Attempts that failed by a fault of S3 or Kafka")
        self.closed: Final = self._counter("closed_runs", "Runs in which nothing more is expected")
        self.compacted: Final = self._counter("compacted_runs", "Runs gathered into a segment of their own")
        self._segments = self._counter("segments", "Segments stored and verified")
        self._events = self._counter("segment_events", "Events in them")
        self._bytes = self._counter("segment_bytes", "Their bytes")
        self._held = self._gauge("held_bytes", "Events that wait for their segment")
        self._streams = self._gauge("open_streams", "Streams that are recounted")
        self.lag: Final = self._gauge("lag_records", "Records that were not read yet, of all partitions held")

    def counted(self, verdicts: Mapping[Verdict, int]) -> None:
        """Events were counted."""
        for verdict, count in verdicts.items():
            self._records[verdict].inc(count)

    def stored(self, segments: Sequence[StoredSegment]) -> None:
        """Segments were stored."""
        self._segments.inc(len(segments))
        self._events.inc(sum(segment.events for segment in segments))
        self._bytes.inc(sum(segment.size for segment in segments))

    def held(self, held_bytes: int, streams: int) -> None:
        """What is in memory."""
        self._held.set(held_bytes)
        self._streams.set(streams)

    def _counter(self, name: str, text: str) -> Counter:
        return Counter(f"tacho_archive_{name}", text, registry=self.registry)

    def _gauge(self, name: str, text: str) -> Gauge:
        return Gauge(f"tacho_archive_{name}", text, registry=self.registry)
