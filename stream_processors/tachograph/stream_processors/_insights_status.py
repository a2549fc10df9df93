"""Insights with `/healthz` and `/metrics`, as the other processors have them."""

from __future__ import annotations

from contextlib import ExitStack
from threading import Event
from typing import Final

from prometheus_client import CollectorRegistry, Gauge

from tachograph.stores.backend import Backend
from tachograph.stream_processors._health import StatusAddress, StatusServer, Watchdog
from tachograph.stream_processors.insights import InsightsStatistics, run_insights

STALL_SECONDS: Final = 300.0
"""Without progress for so long the process is not alive, and is ended. It reports about every second."""

_TEXTS: Final = {
    "findings": "Findings that came",
    "applied": "Findings that took a place in a catalogue",
    "poison": "Records that were set aside",
    "published": "Records published",
}


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
    gauges = {name: Gauge(f"tacho_insights_{name}", text, registry=registry) for name, text in _TEXTS.items()}
    watchdog = Watchdog(STALL_SECONDS, lambda _: [])

    def report(done: InsightsStatistics) -> None:
        watchdog.beat()
        for name, gauge in gauges.items():
            gauge.set(getattr(done, name))

    with ExitStack() as opened:
        if status is not None:
            server = StatusServer(status.host, status.port, watchdog.fault, registry)
            server.start()
            opened.callback(server.stop)
        watchdog.start()
        opened.callback(watchdog.stop)
        run_insights(backend, stop, report=report)
