"""The schema registry, the S3 store and Redis."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from tachograph.control.dev._fetch import Programs
from tachograph.control.dev._ports import HOST
from tachograph.control.dev._probes import redis_answers, registry_answers, s3_works
from tachograph.control.dev._server import Server

S3_PORTS: Final = 8
S3_OPTIONS: Final = (
    "-filer", "-s3", "-s3.iam=false", "-s3.port.iceberg=0", "-s3.port.lance=0",
    "-master.volumeSizeLimitMB=128", "-master.electionTimeout=1s", "-master.heartbeatInterval=100ms",
    "-master.telemetry=false", "-volume.max=0", "-volume.preStopSeconds=0",
)  # fmt: skip
S3_VARIABLES: Final = {"WEED_MASTER_VOLUME_GROWTH_COPY_1": "1"}
"""Else each new bucket takes seven volumes at once, and a few dozen fill the disk's share."""
S3_ACTIONS: Final = ("Admin", "Read", "Write", "List", "Tagging")

REDIS_DATABASES: Final = 1024
"""An empty one costs nothing; tests take one each."""
REDIS_OPTIONS: Final = (
    "--databases", str(REDIS_DATABASES), "--appendonly", "yes", "--appendfsync", "everysec", "--save", "",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class S3Access:
    """Who may use the S3 store, and the bucket that is made."""

    access_key: str
    secret_key: str
    bucket: str


def registry(programs: Programs, directory: Path, port: int, management_port: int, *, durable: bool = True) -> Server:
    """Apicurio Registry, its schemas in a file, or in memory, which starts sooner."""
    where = directory / "registry"
    settings = {
        "quarkus.http.host": HOST,
        "quarkus.http.port": str(port),
        # Without these it listens on every interface.
        "quarkus.management.host": HOST,
        "quarkus.management.port": str(management_port),
        **(registry_storage(str(where / "data")) if durable else {}),
    }
    options = ("-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
    defines = tuple(f"-D{name}={value}" for name, value in settings.items())

    def command() -> tuple[str, ...]:
        return (str(programs.java), *options, *defines, "-jar", str(programs.registry))

    return Server("registry", port, where, command, _nothing, partial(registry_answers, port))


def registry_storage(path: str) -> dict[str, str]:
    """The registry's settings that keep its schemas in a file."""
    return {
        "apicurio.storage.kind": "sql",
        "apicurio.storage.sql.kind": "h2",
        "apicurio.datasource.url": f"jdbc:h2:file:{path}",
    }


def s3(programs: Programs, directory: Path, ports: Sequence[int], access: S3Access, more: Sequence[str] = ()) -> Server:
    """SeaweedFS with its S3 face; of options that come twice the last, in `more`, counts."""
    where = directory / "s3"
    credentials = {"accessKey": access.access_key, "secretKey": access.secret_key}
    identities = [{"name": "tacho", "credentials": [credentials], "actions": S3_ACTIONS}]

    def prepare() -> None:
        (where / "data").mkdir(exist_ok=True)
        file = where / "s3.json"
        file.touch(mode=0o600)
        file.write_text(json.dumps({"identities": identities}))

    return Server(
        name="s3",
        port=ports[0],
        directory=where,
        command=lambda: (str(programs.weed), "-logtostderr=true", "server", *_s3_options(where, ports), *more),
        prepare=prepare,
        probe=partial(s3_works, ports[0], access.bucket, access.access_key, access.secret_key),
        variables=S3_VARIABLES,
    )


def _s3_options(where: Path, ports: Sequence[int]) -> tuple[str, ...]:
    s3, s3_grpc, master, master_grpc, volume, volume_grpc, filer, filer_grpc = ports
    return (
        *S3_OPTIONS, f"-dir={where / 'data'}", f"-ip={HOST}", f"-ip.bind={HOST}",
        f"-master.port={master}", f"-master.port.grpc={master_grpc}",
        f"-volume.port={volume}", f"-volume.port.grpc={volume_grpc}",
        f"-filer.port={filer}", f"-filer.port.grpc={filer_grpc}",
        f"-s3.port={s3}", f"-s3.port.grpc={s3_grpc}", f"-s3.config={where / 's3.json'}",
    )  # fmt: skip


def redis(programs: Programs, directory: Path, port: int) -> Server:
    """Redis, its data in an append-only file."""
    where = directory / "redis"
    options = ("--port", str(port), "--bind", HOST, "--dir", str(where), *REDIS_OPTIONS)
    return Server("redis", port, where, lambda: (str(programs.redis), *options), _nothing, partial(redis_answers, port))


def _nothing() -> None:
    """No settings file, no format."""
