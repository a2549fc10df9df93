"""The servers that tests start, by kind: as `tacho dev up` starts them, kept in memory where that is quicker."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tachograph.control.dev._cache import cache_directory
from tachograph.control.dev._fetch import Programs
from tachograph.control.dev._kafka import BrokerPorts, brokers
from tachograph.control.dev._others import S3Access, redis, registry, s3
from tachograph.control.dev._ports import HOST, Ports
from tachograph.control.dev._server import Server
from tachograph.control.dev._sources import fresh_uuid

S3_ACCESS = S3Access("tests", "tests-secret-key", "ready")
S3_MORE = ("-master.volumeSizeLimitMB=16",)
"""A bucket takes a volume: a small one, so that a test run's hundreds of buckets find room on a small disk."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Servers that are started together."""

    servers: tuple[Server, ...]
    address: str
    """Where clients connect: Kafka's bootstrap, a URL."""


def plan(kind: str, directory: Path, ports: Ports) -> Plan:
    """The servers of a kind: `kafka-1`, `kafka-3`, `registry`, `s3` or `redis`."""
    return _KINDS[kind](Programs(cache_directory()), directory, ports)


def kafka_plan(directory: Path, ports: list[BrokerPorts]) -> Plan:
    """A Kafka cluster on ports that are given."""
    found = Programs(cache_directory())
    addresses = (f"{HOST}:{port.advertised or port.clients}" for port in ports)
    return Plan(brokers(found, directory, fresh_uuid(), ports), ",".join(addresses))


def _kafka(count: int) -> Callable[[Programs, Path, Ports], Plan]:
    return lambda found, directory, ports: kafka_plan(directory, [BrokerPorts(*ports.take(2)) for _ in range(count)])


def _registry(found: Programs, directory: Path, ports: Ports) -> Plan:
    server = registry(found, directory, *ports.take(2), durable=False)
    return Plan((server,), f"http://{HOST}:{server.port}/apis/ccompat/v7")


def _s3(found: Programs, directory: Path, ports: Ports) -> Plan:
    server = s3(found, directory, ports.take(8), S3_ACCESS, S3_MORE)
    return Plan((server,), f"http://{HOST}:{server.port}")


def _redis(found: Programs, directory: Path, ports: Ports) -> Plan:
    server = redis(found, directory, *ports.take(1))
    return Plan((server,), f"redis://{HOST}:{server.port}")


_KINDS: Mapping[str, Callable[[Programs, Path, Ports], Plan]] = {
    "kafka-1": _kafka(1),
    "kafka-3": _kafka(3),
    "registry": _registry,
    "s3": _s3,
    "redis": _redis,
}
