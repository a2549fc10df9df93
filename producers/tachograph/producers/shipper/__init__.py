"""Shipping: carries recorded events from spools to Kafka, and their bodies to S3 before them.

`Shipper` is a thread of a recording process and ships its spools while they grow, `ship` those that dead processes
left behind. `_transfer` ships one spool.
"""

from tachograph.core.ports import Shipped
from tachograph.producers.shipper._metrics import register_metrics
from tachograph.producers.shipper._orphans import ship, ship_service
from tachograph.producers.shipper._shipper import Shipper
from tachograph.producers.shipper._values import ShipperStatistics

__all__ = ["Shipped", "Shipper", "ShipperStatistics", "register_metrics", "ship", "ship_service"]
