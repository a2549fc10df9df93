"""Maven artifacts by coordinates and digest: what is fetched is exactly what was tested, whoever serves it."""

from __future__ import annotations

import hashlib
import threading
import urllib.request
from collections.abc import Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass
from http.client import HTTPException
from importlib import resources
from pathlib import Path
from typing import Final, cast

from tachograph.control.dev._errors import PackageMissing
from tachograph.core.ports import Progress

_AT_ONCE: Final = 8
"""Downloads side by side: most of the time is spent waiting for answers."""
_SECONDS_MAX: Final = 60
"""Without a byte for so long a repository counts as gone."""
_PART_BYTES: Final = 256 << 10
_LOOK_SECONDS: Final = 0.2


@dataclass(frozen=True, slots=True)
class Artifact:
    """One file of a Maven repository."""

    group: str
    name: str
    version: str
    classifier: str
    packaging: str
    sha256: str

    @property
    def path(self) -> str:
        """Where every repository has it."""
        ending = f"-{self.classifier}" if self.classifier else ""
        file = f"{self.name}-{self.version}{ending}.{self.packaging}"
        return f"{self.group.replace('.', '/')}/{self.name}/{self.version}/{file}"


class WrongDigest(Exception):
    """A repository served other bytes than those that were tested."""

    def __init__(self, artifact: Artifact, found: str) -> None:
        self.artifact = artifact
        super().__init__(f"{artifact.name} {artifact.version} has SHA-256 {found}, not {artifact.sha256}")


def artifacts() -> tuple[Artifact, ...]:
    """All that are known, in the order of `artifacts.txt`."""
    text = resources.files("tachograph.control.dev").joinpath("artifacts.txt").read_text(encoding="utf-8")
    return tuple(_artifact(line) for line in text.splitlines() if not line.startswith("#"))


def download(wanted: Sequence[Artifact], directory: Path, title: str, progress: Progress) -> list[Path]:
    """Fetch artifacts into a directory, several at once, and check each.

    Args:
        wanted: which.
        directory: where they go, under their own names.
        title: what progress calls them together.
        progress: is told KiB: those that came, and those of the artifacts that were asked for so far.

    Raises:
        PackageMissing: the package that knows the repositories is not installed.
        OSError: no repository answers, or none has it.
        WrongDigest: a repository served other bytes.
    """
    repositories, told = _repositories(), _Told(title, progress)
    pool = ThreadPoolExecutor(_AT_ONCE)
    try:
        running = [pool.submit(_download, repositories, artifact, directory, told) for artifact in wanted]
        waiting = set(running)
        while waiting:
            done, waiting = wait(waiting, _LOOK_SECONDS, FIRST_EXCEPTION)
            for one in done:
                one.result()
            told.show()
        return [one.result() for one in running]
    except BaseException:
        told.stopped.set()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


class _Told:
    """What came and what is to come; counted in many threads, told in one."""

    def __init__(self, title: str, progress: Progress) -> None:
        self._title = title
        self._progress = progress
        self._lock = threading.Lock()
        self._came = self._expected = 0
        self.stopped = threading.Event()

    def count(self, *, came: int = 0, expected: int = 0) -> None:
        """So many bytes more."""
        with self._lock:
            self._came += came
            self._expected += expected

    def show(self) -> None:
        """Tell how far it is."""
        with self._lock:
            came, expected = self._came, self._expected
        self._progress(came >> 10, expected >> 10, f"{self._title}, KiB")


def _repositories() -> list[str]:
    """Maven Central, or what the user's settings name."""
    try:
        from jgo.config import GlobalSettings
        from jgo.constants import MAVEN_CENTRAL_URL
    except ImportError as error:
        raise PackageMissing("jgo") from error
    return list(({"central": MAVEN_CENTRAL_URL} | GlobalSettings.load().repositories).values())


def _download(repositories: Sequence[str], artifact: Artifact, directory: Path, told: _Told) -> Path:
    failure: OSError = OSError("no repository is named")
    for repository in repositories:
        try:
            return _download_from(f"{repository.rstrip('/')}/{artifact.path}", artifact, directory, told)
        except (OSError, HTTPException) as error:
            failure = OSError(f"{artifact.path} of {repository}: {error}")
    raise failure


def _download_from(url: str, artifact: Artifact, directory: Path, told: _Told) -> Path:
    path, digest = directory / artifact.path.rpartition("/")[2], hashlib.sha256()
    if not url.startswith(("https://", "http://")):
        raise OSError("a repository's URL begins with https:// or http://")
    with urllib.request.urlopen(url, timeout=_SECONDS_MAX) as answer, path.open("wb") as file:  # noqa: S310 checked above
        told.count(expected=int(answer.headers.get("Content-Length", "0")))
        while part := cast("bytes", answer.read(_PART_BYTES)):
            if told.stopped.is_set():
                raise OSError("given up, for another one failed")
            file.write(part)
            digest.update(part)
            told.count(came=len(part))
    if digest.hexdigest() != artifact.sha256:
        raise WrongDigest(artifact, digest.hexdigest())
    return path


def _artifact(line: str) -> Artifact:
    coordinates, sha256 = line.split()
    group, name, version, *rest = coordinates.split(":")
    classifier, packaging = rest or ("", "jar")
    return Artifact(group, name, version, classifier, packaging, sha256)
