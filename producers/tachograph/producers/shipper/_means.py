"""Connects what transfers use: topic, registry, producer, object store."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Final

from tachograph.core.errors import InvalidSetting
from tachograph.core.ports import ObjectStore
from tachograph.producers.shipper._carrier import CONNECTIONS, Carrier
from tachograph.producers.shipper._counters import Counters
from tachograph.producers.shipper._transfer import Means
from tachograph.stores import DirectoryObjects
from tachograph.stores.backend import Backend, KafkaSettings, S3Settings
from tachograph.stores.kafka import EventProducer, Failed, topic_name
from tachograph.stores.registry import SchemaRegistry

REGISTRY_IDS: Final = "registry.json"
"""Where a home keeps the ids that a registry gave."""

OBJECTS: Final = "objects"
"""Where a home keeps its bodies."""

EVENTS: Final = "events"


def topic_of(backend: Backend) -> str:
    """The topic that events go to.

    Raises:
        InvalidSetting: no Kafka is set.
    """
    return topic_name(_kafka(backend), EVENTS)


def connect(
    home: Path, backend: Backend, counters: Counters, on_failed: Callable[[Failed], None], stops: Callable[[], bool]
) -> Means:
    """Everything that shipping from a home's directory needs, checked.

    Raises:
        StoreUnavailable: a server does not answer or refuses, a topic is not there.
        InvalidSetting: no Kafka is set, or a setting cannot be.
        IncompatibleSchema: the registry refuses a schema.
        RegistryReplaced: the registry gives other ids than before.
    """
    settings, topic = _kafka(backend), topic_of(backend)
    registry = SchemaRegistry(backend.registry, home / REGISTRY_IDS, topic=topic)
    objects = DirectoryObjects(home / OBJECTS)
    with ExitStack() as undo:
        undo.callback(registry.close)
        producer = EventProducer(settings, on_failed)  # it connects while the schemas are registered
        undo.callback(producer.close)
        registry.register_all()
        carrier = None if backend.s3 is None else Carrier(objects, _store_maker(backend.s3))
        undo.pop_all()
    return Means(topic, producer, registry, objects, carrier, stops, replace(counters))


def disconnect(means: Means) -> None:
    """Let go of the servers."""
    means.producer.close()
    means.registry.close()
    if means.carrier is not None:
        means.carrier.close()


def _store_maker(settings: S3Settings) -> Callable[[str], ObjectStore]:
    from tachograph.stores.s3 import Bucket, Patience, S3Objects

    # The shipper tries again by itself: a call that does not return would hold up the end of its process.
    patience = Patience(connect_seconds=3, answer_seconds=10, retries=0)
    bucket = Bucket(settings, patience=patience, connections=CONNECTIONS)
    return lambda tenant: S3Objects(bucket, tenant)


def _kafka(backend: Backend) -> KafkaSettings:
    if backend.kafka is None:
        raise InvalidSetting("TACHO_KAFKA_BOOTSTRAP", None, "it must be set to ship events")
    return backend.kafka
