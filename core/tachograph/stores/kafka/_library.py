"""librdkafka: its settings, its log, and its errors in our words; the one place that knows them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Final

from confluent_kafka import KafkaError, KafkaException

from tachograph.core.errors import InvalidSetting, StoreUnavailable
from tachograph.stores.backend import KafkaSettings, Secret
from tachograph.stores.kafka._errors import (
    KafkaFatal,
    KafkaUnavailable,
    NotAuthorised,
    RecordRefused,
    RecordTooLarge,
    TopicMissing,
)
from tachograph.stores.kafka._sources import monotonic_s

_LOG: Final = logging.getLogger("tachograph.kafka")

Property = str | int | float | bool
"""What a property of librdkafka may be."""

DENIED: Final = frozenset(
    {
        KafkaError._AUTHENTICATION,  # noqa: SLF001 librdkafka's own errors begin so
        KafkaError._SSL,  # noqa: SLF001 as above
        KafkaError.SASL_AUTHENTICATION_FAILED,
        KafkaError.UNSUPPORTED_SASL_MECHANISM,
        KafkaError.ILLEGAL_SASL_STATE,
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.GROUP_AUTHORIZATION_FAILED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
    }
)
MISSING: Final = frozenset(
    {
        KafkaError.UNKNOWN_TOPIC_OR_PART,
        KafkaError.UNKNOWN_TOPIC_ID,
        KafkaError._UNKNOWN_TOPIC,  # noqa: SLF001 as above
    }
)
TOO_LARGE: Final = frozenset(
    {KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.RECORD_LIST_TOO_LARGE, KafkaError.INVALID_MSG_SIZE}
)
REFUSED: Final = frozenset(
    {
        KafkaError.INVALID_TIMESTAMP,
        KafkaError.INVALID_RECORD,
        KafkaError.INVALID_MSG,
        KafkaError.POLICY_VIOLATION,
        KafkaError._BAD_MSG,  # noqa: SLF001 as above
        KafkaError._INVALID_ARG,  # noqa: SLF001 as above
    }
)

RECORD_FAULTS: Final = TOO_LARGE | REFUSED
"""Errors that a record brings about; the same again, however often it is sent."""

REPEAT_SECONDS: Final = 60.0
"""How often the same is logged, numbers in it aside."""

_STARTING: Final = "Coordinator load in progress"
"""What a broker that has just started says of the first producer's id; it is asked again, and is no fault."""

_KINDS_MAX: Final = 256
_NO_DIGITS: Final = str.maketrans("", "", "0123456789")

_RECONNECT_MS_MIN: Final = 10
"""Of the library's own 100 every client would spend half before its first connection."""

_RECONNECT_MS_MAX: Final = 1000
"""A broker that is back is noticed within a second; librdkafka's own ten make every restart ten seconds longer."""


class Library:
    """How a client of one cluster is set up, and how what it reports is told.

    Args:
        settings: of the cluster.
        on_error: called from within `poll` with what a client reports, in words.
    """

    def __init__(self, settings: KafkaSettings, on_error: Callable[[StoreUnavailable], None] | None = None) -> None:
        self.bootstrap = settings.bootstrap
        self._settings = settings
        self._on_error = on_error
        self._logged: dict[str, float] = {}
        self._secrets = [value.text for value in settings.properties.values() if isinstance(value, Secret)]

    def properties(self, ours: Mapping[str, Property]) -> dict[str, object]:
        """The client's properties: the user's, over them those that our promises rest on."""
        given = {name: _text(value) for name, value in self._settings.properties.items()}
        return {
            "reconnect.backoff.ms": _RECONNECT_MS_MIN,
            "reconnect.backoff.max.ms": _RECONNECT_MS_MAX,
            "client.id": "tachograph",
            **given,
            **ours,
            "bootstrap.servers": self.bootstrap,
            "error_cb": self._heard,
            "logger": self,
        }

    def refused(self, error: Exception) -> InvalidSetting:
        """A client could not be made: a property is wrong."""
        return InvalidSetting("TACHO_KAFKA_CONFIG", "…", self.scrubbed(_reason(error)))

    def translated(self, error: KafkaError | KafkaException, *, topic: str = "", size: int = 0) -> StoreUnavailable:
        """An error of the library, in our words.

        Args:
            error: the library's.
            topic: the topic concerned, where there is one.
            size: of the record concerned, in bytes; 0 where none is.
        """
        cause = kafka_error(error)
        code, reason = cause.code(), self.scrubbed(cause.str())
        if code in DENIED:
            return NotAuthorised(self.bootstrap, reason)
        if cause.fatal() or code == KafkaError._FATAL:  # noqa: SLF001 as above
            return KafkaFatal(self.bootstrap, reason)
        if code in MISSING:
            return TopicMissing(self.bootstrap, topic)
        if size and code in TOO_LARGE:
            return RecordTooLarge(topic, size, None)
        if size and code in REFUSED:
            return RecordRefused(topic, reason)
        return KafkaUnavailable(self.bootstrap, reason)

    def scrubbed(self, text: str) -> str:
        """A text of the library without any of the settings' secrets."""
        for secret in self._secrets:
            if secret:
                text = text.replace(secret, "***")
        return text

    def log(self, level: int, form: str, *arguments: object) -> None:
        """What librdkafka logs; it calls this as a `logging.Logger`'s."""
        text = form % arguments if arguments else form
        if text.startswith("CONFWARN") or _STARTING in text or self._is_repeated(text):
            return  # CONFWARN: of properties that we set on purpose
        # What ends a client is ours to mend: an alarm is for those who can do something.
        _LOG.log(min(level, logging.WARNING), "%s", self.scrubbed(text))

    def _is_repeated(self, text: str) -> bool:
        """Whether the same was logged a moment ago: while a broker is away, each attempt to reach it says so again."""
        kind, now = text.translate(_NO_DIGITS), monotonic_s()
        since = self._logged.get(kind)
        if since is not None and now - since < REPEAT_SECONDS:
            return True
        if len(self._logged) >= _KINDS_MAX:
            self._logged.clear()
        self._logged[kind] = now
        return False

    def _heard(self, error: KafkaError) -> None:
        if self._on_error is not None:
            self._on_error(self.translated(error))


def kafka_error(error: KafkaError | KafkaException) -> KafkaError:
    """The library's error, out of its exception where it is in one."""
    if isinstance(error, KafkaError):
        return error
    found = error.args[0] if error.args else None
    return found if isinstance(found, KafkaError) else KafkaError(KafkaError._FAIL, str(error))  # noqa: SLF001 as above


def _reason(error: Exception) -> str:
    return kafka_error(error).str() if isinstance(error, KafkaException) else str(error)


def _text(value: str | Secret) -> str:
    return value.text if isinstance(value, Secret) else value
