"""What is fetched is checked against digests that travel with the code; another byte is refused."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Generator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tachograph.control.dev._artifacts import Artifact, artifacts
from tachograph.control.dev._errors import FetchFailed
from tachograph.control.dev._fetch import Programs
from tachograph.control.dev._versions import KAFKA, REGISTRY


class Quiet(SimpleHTTPRequestHandler):
    """Serves a directory and says nothing."""

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 as http.server names it
        """Nothing."""


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Path]:
    """A Maven repository with jars that hold their own names, which the user's settings name."""
    place = tmp_path / "repository"
    place.mkdir()
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(place)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    (tmp_path / "home" / ".config").mkdir(parents=True)
    settings = f"[repositories]\ncentral = http://127.0.0.1:{server.server_port}\n"
    (tmp_path / "home" / ".config" / "jgo.conf").write_text(settings)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    yield place
    server.shutdown()
    thread.join()
    server.server_close()


def known(monkeypatch: pytest.MonkeyPatch, *contents: bytes) -> list[Artifact]:
    """Let these be the artifacts of Kafka."""
    made = [
        Artifact("org.example", f"part{i}", "1.0", "", "jar", hashlib.sha256(content).hexdigest())
        for i, content in enumerate(contents)
    ]
    monkeypatch.setattr("tachograph.control.dev._fetch.artifacts", lambda: made)
    return made


def serve(repository: Path, artifact: Artifact, content: bytes) -> None:
    """Put a jar into the repository."""
    place = repository / "org" / "example" / artifact.name / artifact.version
    place.mkdir(parents=True)
    jar = place / f"{artifact.name}-{artifact.version}.jar"
    jar.write_bytes(content)


def test_what_is_known_is_what_is_tested() -> None:
    """Kafka, its dependencies and the registry, each once and in the version that is named elsewhere."""
    found = artifacts()
    assert len({(one.group, one.name) for one in found}) == len(found) > 50
    versions = {one.name: one.version for one in found}
    assert versions["kafka_2.13"] == versions["kafka-clients"] == versions["kafka-tools"] == KAFKA
    assert versions["apicurio-registry-app"] == REGISTRY
    assert all(len(bytes.fromhex(one.sha256)) == 32 for one in found)


def test_whole_artifacts_are_kept(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them, and each is told while it is fetched; the second time nothing is asked for."""
    contents = [b"%02d" % i * 1024 for i in range(20)]
    for artifact, content in zip(known(monkeypatch, *contents), contents, strict=True):
        serve(repository, artifact, content)
    told: list[tuple[int, int]] = []
    programs = Programs(tmp_path / "cache", lambda done, total, what: told.append((done, total)))
    jars = programs.kafka
    assert sorted(jar.read_bytes() for jar in jars.glob("*.jar")) == sorted(contents)
    assert {path.name for path in jars.iterdir() if path.suffix != ".jar"} == {"files.json"}
    assert told[-1] == (40, 40)
    assert told == sorted(told)
    many = len(told)
    assert programs.kafka == jars
    assert len(told) == many


@pytest.mark.parametrize("served", [b"another jar", None], ids=["other bytes", "nothing"])
def test_what_is_not_as_tested_is_refused(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, served: bytes | None
) -> None:
    """A repository that serves other bytes, or none: the error names the artifact, and nothing is kept."""
    first, second = known(monkeypatch, b"jar 0", b"jar 1")
    serve(repository, first, b"jar 0")
    if served is not None:
        serve(repository, second, served)
    with pytest.raises(FetchFailed, match="part1"):
        _ = Programs(tmp_path / "cache").kafka
    assert not list((tmp_path / "cache").glob("kafka*"))
