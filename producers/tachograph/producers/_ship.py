"""The recorder's way to the shipper: loaded only where there is a cluster to ship to."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tachograph.stores.backend import Backend

if TYPE_CHECKING:
    from tachograph.producers.shipper import Shipper


def shipper_of(home: Path, servers: Backend | None) -> Shipper | None:
    """A shipper for the spools of this process, where there are servers.

    Raises:
        InvalidSetting: the servers are without Kafka.
    """
    if servers is None:
        return None
    from tachograph.producers.shipper import Shipper

    return Shipper(home, servers)
