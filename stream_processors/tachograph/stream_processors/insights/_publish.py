"""Writes what follows from findings to the topics, and returns once it is there."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Final

from tachograph.stores.backend import KafkaSettings
from tachograph.stores.kafka import EventProducer, Failed, KafkaUnavailable, QueueFull, topic_name
from tachograph.stream_processors.insights._applier import Publication

WAIT_SECONDS: Final = 10.0
"""How long the cluster has for a batch, before it is applied again."""


class Publisher:
    """A producer for one thread after the other."""

    def __init__(self, settings: KafkaSettings) -> None:
        self._settings = settings
        self._refused: list[Failed] = []
        self._producer = EventProducer(settings, self._refused.append)
        self._lock = threading.Lock()

    def publish(self, publications: Sequence[Publication]) -> None:
        """Write records, each key's in order.

        Raises:
            StoreUnavailable: it cannot be said that all are there; writing all of them again is safe.
        """
        with self._lock:
            for publication in publications:
                self._produce(publication)
            waiting = self._producer.flush(WAIT_SECONDS)
            if waiting:
                error = self._producer.statistics().latest_error or "no broker answered"
                raise KafkaUnavailable(self._settings.bootstrap, f"{waiting} records were not acknowledged: {error}")
            if self._refused:
                refused, self._refused[:] = self._refused[0], []
                raise refused.error

    def close(self) -> None:
        """Let go of the cluster."""
        self._producer.close()

    def _produce(self, publication: Publication) -> None:
        topic = topic_name(self._settings, publication.topic)
        record = (topic, publication.key, publication.value, publication.headers)
        try:
            self._producer.produce(*record)
        except QueueFull:
            self._producer.flush(WAIT_SECONDS)
            self._producer.produce(*record)
