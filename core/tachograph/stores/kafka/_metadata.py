"""Asking a cluster which topics it has, and hearing why it does not answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Protocol

from confluent_kafka import KafkaException

from tachograph.core.errors import StoreUnavailable
from tachograph.stores.kafka._library import Library
from tachograph.stores.kafka._sources import monotonic_s

if TYPE_CHECKING:
    from confluent_kafka.admin._metadata import ClusterMetadata

_ATTEMPT_SECONDS: Final = 1.0
"""After this long it is heard whether the cluster refuses: the library itself would go on asking."""


class Client(Protocol):
    """A client of the library, of any kind."""

    def list_topics(self, topic: str | None = None, timeout: float = -1) -> ClusterMetadata:
        """Every topic there is."""
        ...

    def poll(self, timeout: float) -> object:
        """Hear what there is to hear."""
        ...


def metadata(
    client: Client, library: Library, refusal: Callable[[], StoreUnavailable | None], seconds_max: float
) -> ClusterMetadata:
    """The cluster's topics and brokers; of all topics: asking for a missing one makes it, where brokers do so.

    Args:
        client: of the library.
        library: of the client.
        refusal: what the client reported that does not pass by itself, where it did.
        seconds_max: how long the cluster may take.

    Raises:
        NotAuthorised: the cluster refuses this user.
        KafkaUnavailable: no broker answers.
    """
    until = monotonic_s() + seconds_max
    while True:
        left = until - monotonic_s()
        try:
            return client.list_topics(timeout=max(0.05, min(_ATTEMPT_SECONDS, left)))
        except KafkaException as error:
            client.poll(0)
            refused = refusal()
            if refused is not None:
                raise refused from error
            if left <= _ATTEMPT_SECONDS:
                raise library.translated(error) from error
