"""Brokers of Apache Kafka in KRaft mode, each of them a controller, too."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tachograph.control.dev._errors import ServerFailed
from tachograph.control.dev._fetch import Programs
from tachograph.control.dev._ports import HOST
from tachograph.control.dev._probes import kafka_brokers
from tachograph.control.dev._server import Server
from tachograph.control.dev._versions import BROKER_SETTINGS, replication_settings

_JAVA = ("-Xms256m", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:+ExitOnOutOfMemoryError")
_LOGGING = """\
status=error
appender.out.type=Console
appender.out.name=out
appender.out.layout.type=PatternLayout
appender.out.layout.pattern=%d{ISO8601} %p %c{1} %m%n
rootLogger.level=warn
rootLogger.appenderRef.out.ref=out
"""


@dataclass(frozen=True, slots=True)
class BrokerPorts:
    """The ports of one broker."""

    clients: int
    controller: int
    advertised: int | None = None
    """What clients are told to connect to, where a proxy stands in between."""


def brokers(programs: Programs, directory: Path, cluster_id: str, ports: Sequence[BrokerPorts]) -> tuple[Server, ...]:
    """A cluster of as many brokers as there are ports."""
    return tuple(_broker(programs, directory / f"kafka-{node}", cluster_id, node, ports) for node in _nodes(ports))


def server_properties(directory: Path, node: int, ports: Sequence[BrokerPorts]) -> dict[str, str]:
    """The settings of one broker."""
    own = ports[node - 1]
    voters = (f"{voter}@{HOST}:{ports[voter - 1].controller}" for voter in _nodes(ports))
    return {
        "process.roles": "broker,controller",
        "node.id": str(node),
        "controller.quorum.voters": ",".join(voters),
        "controller.listener.names": "CONTROLLER",
        "listeners": f"PLAINTEXT://{HOST}:{own.clients},CONTROLLER://{HOST}:{own.controller}",
        "advertised.listeners": f"PLAINTEXT://{HOST}:{own.advertised or own.clients}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "PLAINTEXT",
        "log.dirs": str(directory / "data"),
        **BROKER_SETTINGS,
        **replication_settings(len(ports)),
    }


def _nodes(ports: Sequence[BrokerPorts]) -> range:
    return range(1, len(ports) + 1)


def _broker(programs: Programs, directory: Path, cluster_id: str, node: int, ports: Sequence[BrokerPorts]) -> Server:
    settings = directory / "server.properties"
    logging = directory / "log4j2.properties"

    def java(main: str, *arguments: str) -> tuple[str, ...]:
        path = ("-cp", str(programs.kafka / "*"))
        return (str(programs.java), *_JAVA, f"-Dlog4j2.configurationFile={logging.as_uri()}", *path, main, *arguments)

    def prepare() -> None:
        properties = server_properties(directory, node, ports)
        settings.write_text("".join(f"{name}={_escaped(value)}\n" for name, value in properties.items()))
        logging.write_text(_LOGGING)
        if not (directory / "data" / "meta.properties").exists():
            _format(java("kafka.tools.StorageTool", "format", "-t", cluster_id, "-c", str(settings)), directory)

    return Server(
        name=directory.name,
        port=ports[node - 1].clients,
        directory=directory,
        command=partial(java, "kafka.Kafka", str(settings)),
        prepare=prepare,
        probe=partial(_lists_all, ports[node - 1].clients, len(ports)),
    )


def _escaped(value: str) -> str:
    """As Java reads properties: in Latin-1, with backslashes before what is none of it."""
    doubled = value.replace("\\", "\\\\").encode("utf-16-be")
    units = (int.from_bytes(doubled[i : i + 2], "big") for i in range(0, len(doubled), 2))
    return "".join(chr(unit) if unit < 128 else f"\\u{unit:04x}" for unit in units)


def _format(command: Sequence[str], directory: Path) -> None:
    log = directory / "format.txt"
    with log.open("wb") as output:
        done = subprocess.run(command, cwd=directory, stdout=output, stderr=output, check=False)
    if done.returncode:
        reason = f"cannot format its data directory (exit code {done.returncode})"
        raise ServerFailed(directory.name, reason, str(log), log.read_text(errors="replace")[-500:])


def _lists_all(port: int, count: int) -> bool:
    return kafka_brokers(port) == count
