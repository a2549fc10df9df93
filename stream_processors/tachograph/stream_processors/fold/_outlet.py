"""What the fold tells others, beside findings and quarantine: where snapshots are."""

from __future__ import annotations

import orjson

from tachograph.stores.archive import SnapshotPointer
from tachograph.stores.backend import KafkaSettings
from tachograph.stores.kafka import topic_name
from tachograph.stream_processors._outlet import Outlet

_FORMAT = 1


class FoldOutlet(Outlet):
    """Produces to `snapshots`, too.

    Args:
        settings: of the cluster.
    """

    def __init__(self, settings: KafkaSettings) -> None:
        super().__init__(settings)
        self._snapshots = topic_name(settings, "snapshots")

    def point(self, pointer: SnapshotPointer) -> None:
        """Say where a run's newest snapshot is; the topic keeps the latest word on each run.

        Raises:
            StoreUnavailable: the topic cannot take it.
        """
        value = orjson.dumps({"format": _FORMAT, "snapshot": pointer}, option=orjson.OPT_SORT_KEYS)
        self._produce(self._snapshots, pointer.run_id.encode(), value, [], 0)
