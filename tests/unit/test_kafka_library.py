"""What librdkafka logs and reports reaches nobody with a secret in it, nor again and again."""

from __future__ import annotations

import logging

import pytest
from confluent_kafka import KafkaError, KafkaException

from tachograph.stores.backend import KafkaSettings, Secret
from tachograph.stores.kafka import KafkaFatal, KafkaUnavailable, NotAuthorised, RecordTooLarge, TopicMissing
from tachograph.stores.kafka._library import Library

SETTINGS = KafkaSettings("broker:9092", {"sasl.password": Secret("hunter2"), "sasl.username": "user"})


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (KafkaError._AUTHENTICATION, NotAuthorised),
        (KafkaError._SSL, NotAuthorised),
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, NotAuthorised),
        (KafkaError.GROUP_AUTHORIZATION_FAILED, NotAuthorised),
        (KafkaError.UNKNOWN_TOPIC_OR_PART, TopicMissing),
        (KafkaError.MSG_SIZE_TOO_LARGE, RecordTooLarge),
        (KafkaError._ALL_BROKERS_DOWN, KafkaUnavailable),
        (KafkaError._FATAL, KafkaFatal),
    ],
)
def test_errors_are_told_in_our_words(code: int, kind: type[Exception]) -> None:
    """By whose fault it is; a secret in the library's text is not in ours."""
    error = KafkaException(KafkaError(code, "refused: hunter2"))
    told = Library(SETTINGS).translated(error, topic="events", size=10)
    assert type(told) is kind
    assert "hunter2" not in str(told)


def test_the_same_is_logged_once_a_while(caplog: pytest.LogCaptureFixture) -> None:
    """Whatever numbers are in it; without secrets, and never as an alarm."""
    library = Library(SETTINGS)
    with caplog.at_level(logging.INFO, "tachograph.kafka"):
        for number in range(50):
            library.log(logging.CRITICAL, "FAIL [%s] refused hunter2 after %d ms", "main", number)
        library.log(logging.INFO, "CONFWARN something that we set on purpose")
        library.log(logging.WARNING, "GETPID failed: Broker: %s: retrying", "Coordinator load in progress")
    (record,) = caplog.records
    assert record.getMessage() == "FAIL [main] refused *** after 0 ms"
    assert record.levelno == logging.WARNING


def test_secrets_reach_only_the_client() -> None:
    """They are among its properties, and in no representation of the settings."""
    assert Library(SETTINGS).properties({})["sasl.password"] == "hunter2"
    assert "hunter2" not in repr(SETTINGS)
