"""A shipper's counters for Prometheus: few labels, of which there are six values, so that they never grow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from tachograph.core.errors import InvalidSetting
from tachograph.producers.shipper._shipper import Shipper

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

COUNTED: Final = {
    "events": "Events acknowledged by the cluster.",
    "bytes": "Bytes of the events acknowledged by the cluster.",
    "bodies": "Objects that are in S3.",
    "resent": "Records sent again by a new client.",
    "failures": "Attempts that a server did not answer or refused.",
}
"""Counters, as `ShipperStatistics` names them."""


def register_metrics(shipper: Shipper, registry: CollectorRegistry | None = None) -> None:
    """Show a shipper's counters to Prometheus.

    Args:
        shipper: of this process.
        registry: where metrics are collected; by default prometheus-client's own.

    Raises:
        InvalidSetting: prometheus-client is not installed.
    """
    try:
        from prometheus_client import REGISTRY
    except ImportError as error:
        needed = "showing them needs prometheus-client; install it with `pip install 'tachograph[cluster]'`"
        raise InvalidSetting("metrics", "shipper", needed) from error
    (registry or REGISTRY).register(_Collector(shipper))


class _Collector:
    """Asks when it is asked."""

    def __init__(self, shipper: Shipper) -> None:
        self._shipper = shipper

    def collect(self) -> Iterator[CounterMetricFamily | GaugeMetricFamily]:
        """The metrics as they are now."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        statistics = self._shipper.statistics()
        for name, meaning in COUNTED.items():
            yield CounterMetricFamily(f"tacho_shipper_{name}", meaning, value=getattr(statistics, name))
        waiting = "Bytes of this process's spools that are not shipped yet."
        stuck = "Events and bodies left out now, by reason; they are named in the spool and tried again."
        family = GaugeMetricFamily("tacho_shipper_stuck", stuck, labels=["reason"])
        for reason, count in statistics.stuck_by_reason.items():
            family.add_metric([reason], count)
        yield family
        yield GaugeMetricFamily("tacho_shipper_waiting_bytes", waiting, value=statistics.waiting_bytes)
