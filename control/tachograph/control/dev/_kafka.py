"""Brokers of Apache Kafka in KRaft mode, each of them a controller, too."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tachograph.control.dev._cache import kept
from tachograph.control.dev._errors import ServerFailed
from tachograph.control.dev._fetch import Programs
from tachograph.control.dev._ports import HOST
from tachograph.control.dev._probes import kafka_brokers
from tachograph.control.dev._server import Server
from tachograph.control.dev._sources import fresh_uuid
from tachograph.control.dev._versions import BROKER_SETTINGS, KAFKA, replication_settings

_JAVA = ("-Xms256m", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:+ExitOnOutOfMemoryError")
_META = "meta.properties"
_SNAPSHOT = Path("__cluster_metadata-0/00000000000000000000-0000000000.checkpoint")
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

    def command() -> tuple[str, ...]:
        logged = f"-Dlog4j2.configurationFile={logging.as_uri()}"
        return (*_java(programs, logged), "kafka.Kafka", str(settings))

    def prepare() -> None:
        _write_properties(settings, server_properties(directory, node, ports))
        logging.write_text(_LOGGING)
        if not (directory / "data" / _META).exists():
            _format(directory / "data", formatted(programs), cluster_id, node)

    return Server(
        name=directory.name,
        port=ports[node - 1].clients,
        directory=directory,
        command=command,
        prepare=prepare,
        probe=partial(_lists_all, ports[node - 1].clients, len(ports)),
    )


def formatted(programs: Programs) -> Path:
    """The first snapshot of a cluster's metadata, as Kafka's own tool writes it; the same for every cluster.

    The tool runs once for a version and not for each broker: a Java machine of its own for 400 bytes.
    """
    return kept(programs.cache, f"kafka-format-{KAFKA}", partial(_run_tool, programs)) / _SNAPSHOT.name


def _run_tool(programs: Programs, directory: Path) -> None:
    work, log = directory / "work", directory / "format.txt"
    work.mkdir()
    _write_properties(work / "server.properties", server_properties(work, 1, [BrokerPorts(1, 2)]))
    tool = (*_java(programs), "kafka.tools.StorageTool", "format", "-t", fresh_uuid(), "-c", "server.properties")
    with log.open("wb") as output:
        done = subprocess.run(tool, cwd=work, stdout=output, stderr=output, check=False)
    if done.returncode:
        reason = f"cannot format a data directory (exit code {done.returncode})"
        raise ServerFailed("kafka", reason, str(log), log.read_text(errors="replace")[-500:])
    (work / "data" / _SNAPSHOT).rename(directory / _SNAPSHOT.name)
    shutil.rmtree(work)


def _format(data: Path, snapshot: Path, cluster_id: str, node: int) -> None:
    """What the tool leaves: the snapshot, and who this directory belongs to; that last, for it says that all is there."""
    (data / _SNAPSHOT).parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(snapshot, data / _SNAPSHOT)
    meta = {"version": "1", "cluster.id": cluster_id, "node.id": str(node), "directory.id": fresh_uuid()}
    _write_properties(data / f"{_META}.new", meta)
    (data / f"{_META}.new").rename(data / _META)


def _java(programs: Programs, *more: str) -> tuple[str, ...]:
    return (str(programs.java), *_JAVA, *more, "-cp", str(programs.kafka / "*"))


def _write_properties(path: Path, properties: Mapping[str, str]) -> None:
    path.write_text("".join(f"{name}={_escaped(value)}\n" for name, value in properties.items()))


def _escaped(value: str) -> str:
    """As Java reads properties: in Latin-1, with backslashes before what is none of it."""
    doubled = value.replace("\\", "\\\\").encode("utf-16-be")
    units = (int.from_bytes(doubled[i : i + 2], "big") for i in range(0, len(doubled), 2))
    return "".join(chr(unit) if unit < 128 else f"\\u{unit:04x}" for unit in units)


def _lists_all(port: int, count: int) -> bool:
    return kafka_brokers(port) == count
