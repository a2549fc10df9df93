"""Which servers a directory has, and on which ports."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final, Literal

from tachograph.control.dev._fetch import Programs
from tachograph.control.dev._kafka import BrokerPorts, brokers
from tachograph.control.dev._others import S3_PORTS, S3Access, redis, registry, s3
from tachograph.control.dev._ports import HOST
from tachograph.control.dev._server import Server
from tachograph.control.dev._sources import fresh_secret, fresh_uuid
from tachograph.control.dev._state import State

Service = Literal["kafka", "registry", "s3", "redis"]
ALL: Final[tuple[Service, ...]] = ("kafka", "registry", "s3", "redis")
BUCKET: Final = "tacho"
_PORTS: Final = {"kafka": 2, "registry": 2, "s3": S3_PORTS, "redis": 1}
"""How many ports each server needs."""


def fresh_state(brokers_count: int) -> State:
    """A directory in which nothing was started yet."""
    return State(brokers_count, fresh_uuid(), "tacho", fresh_secret(), {}, {})


def names_of(services: Sequence[Service], brokers_count: int) -> list[str]:
    """The servers of services: `kafka` is one for each broker."""
    found: list[str] = []
    for service in services:
        found += [f"kafka-{node + 1}" for node in range(brokers_count)] if service == "kafka" else [service]
    return found


def ports_needed(name: str) -> int:
    """How many ports a server needs."""
    return _PORTS[name.partition("-")[0]]


def servers_of(programs: Programs, directory: Path, state: State) -> list[Server]:
    """The servers that a state has ports for, in the order of their start: the quick ones first."""
    access = S3Access(state.access_key, state.secret_key, BUCKET)
    found: list[Server] = []
    if "redis" in state.ports:
        found.append(redis(programs, directory, state.ports["redis"][0]))
    if "s3" in state.ports:
        found.append(s3(programs, directory, state.ports["s3"], access))
    if "registry" in state.ports:
        found.append(registry(programs, directory, *state.ports["registry"]))
    found += brokers(programs, directory, state.cluster_id, _broker_ports(state))
    return found


def settings_of(directory: Path, state: State) -> dict[str, str]:
    """The settings with which everything else finds these servers."""
    settings: dict[str, str] = {}
    if broker_ports := _broker_ports(state):
        settings["TACHO_KAFKA_BOOTSTRAP"] = ",".join(f"{HOST}:{ports.clients}" for ports in broker_ports)
    if "registry" in state.ports:
        settings["TACHO_REGISTRY_URL"] = f"http://{HOST}:{state.ports['registry'][0]}/apis/ccompat/v7"
    if "s3" in state.ports:
        settings |= {
            "TACHO_S3_URL": f"http://{HOST}:{state.ports['s3'][0]}",
            "TACHO_S3_BUCKET": BUCKET,
            "TACHO_S3_ACCESS_KEY": state.access_key,
            "TACHO_S3_SECRET_KEY": state.secret_key,
        }
    if "redis" in state.ports:
        settings["TACHO_REDIS_URL"] = f"redis://{HOST}:{state.ports['redis'][0]}/0"
    return settings | {"TACHO_DIGEST_KEY_FILE": str(directory / "digest.key")}


def _broker_ports(state: State) -> list[BrokerPorts]:
    names = [f"kafka-{node + 1}" for node in range(state.brokers)]
    return [BrokerPorts(*state.ports[name]) for name in names if name in state.ports]
