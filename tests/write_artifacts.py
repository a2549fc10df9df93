"""Writes control/tachograph/control/dev/artifacts.txt anew: `python tests/write_artifacts.py`, after a change of versions.

It resolves Kafka's dependencies as Maven does and notes what it finds, so that nobody else has to, and everybody gets the
same bytes.
"""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path

import jgo
from jgo.maven import MavenContext

from house import ROOT
from tachograph.control.dev._versions import KAFKA, REGISTRY

FILE = ROOT / "control" / "tachograph" / "control" / "dev" / "artifacts.txt"
HEAD = "# Maven artifacts of the servers, with their SHA-256. Written by tests/write_artifacts.py.\n"
KAFKA_ROOTS = (
    f"org.apache.kafka:kafka_2.13:{KAFKA}",
    f"org.apache.kafka:kafka-tools:{KAFKA}",
    # Named, for the resolver picks an older one otherwise, and the broker dies with NoSuchMethodError.
    f"org.apache.kafka:kafka-clients:{KAFKA}",
    "org.apache.logging.log4j:log4j-slf4j-impl:2.25.1",
)


def line(path: Path, coordinates: str) -> str:
    """One artifact."""
    with path.open("rb") as file:
        return f"{coordinates} {hashlib.file_digest(file, 'sha256').hexdigest()}\n"


def kafka_lines(directory: Path) -> list[str]:
    """Every jar that a broker needs."""
    environment = jgo.build("+".join(KAFKA_ROOTS), cache_dir=directory)
    locked = environment.lockfile
    assert locked is not None
    versions = {f"{found.artifactId}-{found.version}.jar": found for found in locked.dependencies}
    found = [(versions[jar.name], jar) for jar in environment.all_jars]
    return sorted(line(jar, f"{one.groupId}:{one.artifactId}:{one.version}") for one, jar in found)


def main() -> None:
    """Write the file."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        registry = (
            MavenContext(repo_cache=directory).project("io.apicurio", "apicurio-registry-app").at_version(REGISTRY)
        )
        packed = registry.artifact("all", "tar.gz").resolve()
        lines = kafka_lines(directory / "kafka")
        lines.append(line(packed, f"io.apicurio:apicurio-registry-app:{REGISTRY}:all:tar.gz"))
    FILE.write_text(HEAD + "".join(lines))


if __name__ == "__main__":
    main()
