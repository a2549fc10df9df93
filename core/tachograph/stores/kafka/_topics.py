"""Making topics and telling how those that are there differ; nothing is ever removed or shrunk, nor grown.

More partitions would send the next events of a run to another partition, behind which its order is lost; so that, too,
is only told.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol, cast

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic, ResourceType  # type: ignore[attr-defined]  # there, and not named in its stubs

from tachograph.core.errors import InvalidSetting, StoreUnavailable
from tachograph.core.ports import TopicDifference, TopicReport
from tachograph.stores.backend import backend_of
from tachograph.stores.kafka._errors import KafkaUnavailable, TopicMissing
from tachograph.stores.kafka._library import Library, kafka_error
from tachograph.stores.kafka._metadata import Client, metadata
from tachograph.stores.kafka._plans import TopicPlan, topic_name, topic_plans
from tachograph.stores.kafka._sources import monotonic_s

if TYPE_CHECKING:
    from concurrent.futures import Future

    from confluent_kafka.admin._config import ConfigEntry
    from confluent_kafka.admin._metadata import TopicMetadata

    from tachograph.stores.backend import KafkaSettings

SECONDS_MAX: Final = 30.0
"""How long the cluster may take for each request."""

_PAUSE_S: Final = 0.05

LIMIT: Final = "max.message.bytes"


def ensure_topics(settings: KafkaSettings, plans: Sequence[TopicPlan], *, create: bool = True) -> TopicReport:
    """Make the topics that are not there, and compare the others with their plans.

    Args:
        settings: of the cluster.
        plans: the topics.
        create: make what is missing; else it is told as drift.

    Raises:
        KafkaUnavailable: no broker answers.
        NotAuthorised: the cluster refuses this user.
        InvalidSetting: a property in TACHO_KAFKA_CONFIG cannot be.
    """
    return _Topics(settings).ensure({topic_name(settings, plan.name): plan for plan in plans}, create=create)


def topics_service(config: Path | None, *, create: bool) -> TopicReport:
    """Make the topics of the cluster that the environment names, and compare them (the `topics` service).

    Raises:
        InvalidSetting: no Kafka is set, or a setting or number cannot be.
        StoreUnavailable: as `ensure_topics`.
    """
    settings = backend_of().kafka
    if settings is None:
        raise InvalidSetting("TACHO_KAFKA_BOOTSTRAP", None, "it must be set to reach a cluster")
    return ensure_topics(settings, topic_plans(config), create=create)


def record_bytes_max(settings: KafkaSettings, topic: str) -> int | None:
    """The largest record, in bytes, that a topic takes; None where the cluster does not let this user ask.

    Raises:
        TopicMissing: there is no such topic.
        KafkaUnavailable: no broker answers.
        NotAuthorised: the cluster does not know this user.
    """
    return _Topics(settings).record_bytes_max(topic)


class _Admin(Client, Protocol):
    """What we use of the library's client, with the types that its stubs leave open."""

    def create_topics(self, new_topics: list[NewTopic], *, operation_timeout: float) -> dict[str, Future[None]]: ...
    def describe_configs(
        self, resources: list[ConfigResource]
    ) -> dict[ConfigResource, Future[dict[str, ConfigEntry]]]: ...


class _Topics:
    """One look at a cluster's topics."""

    def __init__(self, settings: KafkaSettings) -> None:
        self._library = Library(settings, self._heard)
        self._refusal: StoreUnavailable | None = None
        try:
            made = AdminClient(self._library.properties({}))  # type: ignore[arg-type]  # takes callbacks, too
        except (KafkaException, ValueError, TypeError) as error:
            raise self._library.refused(error) from None  # its text may hold a secret
        self._client = cast("_Admin", made)

    def ensure(self, plans: Mapping[str, TopicPlan], *, create: bool) -> TopicReport:
        there, brokers = self._there()
        missing = {name: plan for name, plan in plans.items() if name not in there}
        created = self._create(missing, brokers) if create else []
        drift = [] if create else [TopicDifference(name, "topic", "there", "missing") for name in missing]
        present = {name: plan for name, plan in plans.items() if name in there}
        drift += self._drift(present, there, brokers)
        differing = {each.topic for each in drift}
        return TopicReport(tuple(created), tuple(drift), tuple(name for name in present if name not in differing))

    def record_bytes_max(self, topic: str) -> int | None:
        there, _ = self._there()
        if topic not in there:
            raise TopicMissing(self._library.bootstrap, topic)
        try:
            found = self._configs([topic])[topic].get(LIMIT)
        except KafkaException as error:
            if kafka_error(error).code() == KafkaError.TOPIC_AUTHORIZATION_FAILED:
                return None
            raise self._library.translated(error, topic=topic) from error
        return None if found is None else int(found)

    def _there(self) -> tuple[Mapping[str, TopicMetadata], int]:
        found = metadata(self._client, self._library, lambda: self._refusal, SECONDS_MAX)
        return found.topics, len(found.brokers)

    def _heard(self, error: StoreUnavailable) -> None:
        if not isinstance(error, KafkaUnavailable):
            self._refusal = error

    def _create(self, plans: Mapping[str, TopicPlan], brokers: int) -> list[str]:
        if not plans:
            return []
        asked = [
            NewTopic(name, plan.partitions, plan.copies(brokers), config=plan.config(brokers))
            for name, plan in plans.items()
        ]
        futures = self._client.create_topics(asked, operation_timeout=SECONDS_MAX)
        made = [name for name, future in futures.items() if self._is_made(name, future)]
        self._wait_for(plans)
        return made

    def _wait_for(self, names: Iterable[str]) -> None:
        """Brokers hear of a new topic a moment after it was made; whoever sends at once would miss it."""
        until = monotonic_s() + SECONDS_MAX
        while (missing := set(names) - set(self._there()[0])) and monotonic_s() < until:
            threading.Event().wait(_PAUSE_S)
        if missing:
            raise KafkaUnavailable(
                self._library.bootstrap, f"the topic {min(missing)!r} was made and is not listed yet"
            )

    def _is_made(self, name: str, future: Future[None]) -> bool:
        """Whether we made it: another process may do the same at the same time."""
        try:
            future.result(SECONDS_MAX)
        except KafkaException as error:
            if kafka_error(error).code() == KafkaError.TOPIC_ALREADY_EXISTS:
                return False
            raise self._library.translated(error, topic=name) from error
        return True

    def _drift(
        self, plans: Mapping[str, TopicPlan], there: Mapping[str, TopicMetadata], brokers: int
    ) -> list[TopicDifference]:
        drift: list[TopicDifference] = []
        try:
            configs = self._configs(list(plans))
        except KafkaException as error:
            raise self._library.translated(error) from error
        for name, plan in plans.items():
            partitions = there[name].partitions
            found = {
                "partitions": str(len(partitions)),
                "replication": str(min((len(each.replicas) for each in partitions.values()), default=0)),
                **configs[name],
            }
            planned = {"partitions": str(plan.partitions), "replication": str(plan.copies(brokers))}
            for what, wanted in {**planned, **plan.config(brokers)}.items():
                if found.get(what) != wanted:
                    drift.append(TopicDifference(name, what, wanted, str(found.get(what))))
        return drift

    def _configs(self, names: Sequence[str]) -> dict[str, dict[str, str]]:
        if not names:
            return {}
        asked = [ConfigResource(ResourceType.TOPIC, name) for name in names]
        futures = self._client.describe_configs(asked)
        return {resource.name: _values(future) for resource, future in futures.items()}


def _values(future: Future[dict[str, ConfigEntry]]) -> dict[str, str]:
    return {name: str(entry.value) for name, entry in future.result(SECONDS_MAX).items()}
