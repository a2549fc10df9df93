"""A cluster that asks for user and password: who is refused hears of it at once, with what to do and without the secret."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from kafka_support import SECONDS_MAX
from service_plans import plan
from services import started
from shipping import EVENTS, record
from tachograph.control.dev._ports import HOST, Ports
from tachograph.control.dev._server import Server
from tachograph.producers.shipper import ship
from tachograph.stores.backend import Backend, KafkaSettings, Secret
from tachograph.stores.kafka import EventConsumer, NotAuthorised, ensure_topics

PASSWORD = "wonderland-7"


def asking(server: Server, port: int, plain: str) -> Server:
    """The same broker, with one more listener, at which users log in."""
    module = "org.apache.kafka.common.security.plain.PlainLoginModule"
    lines = (
        f"listeners={plain},SASL_PLAINTEXT://{HOST}:{port}",
        f"advertised.listeners=PLAINTEXT://{HOST}:{server.port},SASL_PLAINTEXT://{HOST}:{port}",
        "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT",
        "sasl.enabled.mechanisms=PLAIN",
        f'listener.name.sasl_plaintext.plain.sasl.jaas.config={module} required user_alice="{PASSWORD}";',
    )

    def prepare() -> None:
        server.prepare()
        with (server.directory / "server.properties").open("a") as file:
            file.write("".join(f"{line}\n" for line in lines))

    return replace(server, prepare=prepare)


@pytest.fixture(scope="module")
def bootstrap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where users log in."""
    directory, ports = tmp_path_factory.mktemp("kafka"), Ports()
    planned = plan("kafka-1", directory, ports)
    (port,) = ports.take(1)
    (server,) = planned.servers
    server.directory.mkdir(parents=True, exist_ok=True)
    server.prepare()
    properties = dict(line.split("=", 1) for line in (server.directory / "server.properties").read_text().split())
    with started(replace(planned, servers=(asking(server, port, properties["listeners"]),)), ports):
        yield f"{HOST}:{port}"


def login(bootstrap: str, password: str) -> KafkaSettings:
    """Of Alice."""
    return KafkaSettings(
        bootstrap,
        {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "PLAIN",
            "sasl.username": "alice",
            "sasl.password": Secret(password),
        },
    )


def test_who_may_ships(bootstrap: str, tmp_path: Path) -> None:
    """With user and password, as properties of librdkafka."""
    backend = Backend(kafka=login(bootstrap, PASSWORD))
    assert backend.kafka is not None
    ensure_topics(backend.kafka, [EVENTS])
    record(tmp_path / "home", 1, 1).close()
    done = ship(tmp_path / "home", backend, lambda _done, _all, _what: None, SECONDS_MAX)
    assert done.is_complete
    assert done.events > 3


def test_who_may_not_is_told(bootstrap: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """By a consumer, by making topics, by shipping; a recorder records on, and says why it does not ship."""
    wrong = login(bootstrap, "guessed-9")
    shown: list[str] = []
    record(tmp_path / "home", 1, 1).close()
    with caplog.at_level(logging.DEBUG):
        for refused in (
            lambda: EventConsumer(wrong, "g", ["tacho.events"]),
            lambda: ensure_topics(wrong, [EVENTS]),
            lambda: ship(tmp_path / "home", Backend(kafka=wrong), lambda _done, _all, _what: None, SECONDS_MAX),
        ):
            with pytest.raises(NotAuthorised, match="TACHO_KAFKA_CONFIG") as caught:
                refused()
            shown += traceback.format_exception(caught.value)
        recorder = record(tmp_path / "living", 1, 1, ship=Backend(kafka=wrong))
        assert recorder.shipper is not None
        waiting = recorder.shipper.drain(SECONDS_MAX / 2)
        recorder.close()
    assert "TACHO_KAFKA_CONFIG" in str(waiting.reason)
    assert "guessed-9" not in "".join([*shown, caplog.text, str(waiting)])
