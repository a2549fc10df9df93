"""Insights with `/healthz` and `/metrics`, as the other processors have them."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from threading import Event
from typing import Final

from prometheus_client import CollectorRegistry, Gauge

from tachograph.stores.backend import Backend
from tachograph.stream_processors._health import StatusAddress, StatusServer, Watchdog
from tachograph.stream_processors._sources import monotonic_s
from tachograph.stream_processors.insights import InsightsStatistics, Trends, run_insights

STALL_SECONDS: Final = 300.0
"""Without progress for so long the process is not alive, and is ended. It reports about every second."""

WINDOW_SECONDS: Final = 10.0
"""How often the windows are shown."""

LABELS_MAX: Final = 64
"""Of one metric."""

_TEXTS: Final = {
    "findings": "Findings that came",
    "applied": "Findings that took a place in a catalogue",
    "poison": "Records that were set aside",
    "published": "Records published",
}


class _Metrics:
    """What `/metrics` shows of the fleet."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._counts = {name: Gauge(f"tacho_insights_{name}", text, registry=registry) for name, text in _TEXTS.items()}
        runs = "Runs that began in the last 24 hours and show a signature"
        self._signatures = Gauge("tacho_signature_runs", runs, ["signature"], registry=registry)
        self._replays = Gauge("tacho_replays", "Replays of the last 24 hours by result", ["result"], registry=registry)
        passed = "Of the replays of the last 24 hours that proved something, those that reproduced"
        self._rate = Gauge("tacho_replay_pass_ratio", passed, registry=registry)
        self._watched_s = -WINDOW_SECONDS

    def counted(self, done: InsightsStatistics) -> None:
        """What was done so far."""
        for name, gauge in self._counts.items():
            gauge.set(getattr(done, name))

    def watched(self, trends: Trends) -> None:
        """What the windows say, now and then: it is counted anew each time."""
        now = monotonic_s()
        if now - self._watched_s < WINDOW_SECONDS:
            return
        self._watched_s = now
        day = trends.day()
        _show(self._signatures, day.signatures)
        _show(self._replays, day.replays)
        self._rate.set(float("nan") if day.pass_rate is None else day.pass_rate)


def _show(gauge: Gauge, counts: Mapping[str, int]) -> None:
    """The most frequent labels; the others together, so that foreign names cannot fill a time series database."""
    gauge.clear()
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    for label, count in ordered[:LABELS_MAX]:
        gauge.labels(label).set(count)
    if len(ordered) > LABELS_MAX:
        gauge.labels("other").set(sum(count for _, count in ordered[LABELS_MAX:]))


def run_insights_with_status(backend: Backend, stop: Event, status: StatusAddress | None) -> None:
    """Run insights until `stop` is set.

    Args:
        backend: with Kafka and Redis.
        stop: set it to end in good order.
        status: where to answer `/healthz` and `/metrics`; None: nowhere.

    Raises:
        InvalidSetting: Kafka or Redis is not set.
        StoreUnavailable: a server failed for longer than it is waited for.
    """
    registry = CollectorRegistry()
    metrics = _Metrics(registry)
    watchdog = Watchdog(STALL_SECONDS, lambda _: [])

    def report(done: InsightsStatistics, trends: Trends) -> None:
        watchdog.beat()
        metrics.counted(done)
        metrics.watched(trends)

    with ExitStack() as opened:
        if status is not None:
            server = StatusServer(status.host, status.port, watchdog.fault, registry)
            server.start()
            opened.callback(server.stop)
        watchdog.start()
        opened.callback(watchdog.stop)
        run_insights(backend, stop, report=report)
