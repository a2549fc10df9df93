"""`tacho dev up` gives servers that work, keeps their data, and ends exactly those that it started."""

from __future__ import annotations

import io
import shlex
import urllib.request
from pathlib import Path
from typing import Any

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from minio import Minio
from redis import Redis

from cli import tacho
from listening import listening
from tachograph.stores.backend import Backend, backend_of
from tachograph.stores.kafka import TOPICS, ensure_topics


def test_up_gives_servers_that_work_and_keep_their_data(tmp_path: Path) -> None:
    """One start serves all of these: it takes a while. A home may have any name."""
    home = tmp_path / "Jürgens Flüge 🛫"
    done = tacho("--home", home, "dev", "up")
    try:
        assert done.code == 0, done.err
        every_server_is_healthy(home)
        nobody_outside_can_connect(home)
        up_again_changes_nothing(home)
        what_is_printed_can_be_run_by_a_shell(home)
        the_topics_are_there(home)
        data_outlives_down_and_up(home)
    finally:
        tacho("--home", home, "dev", "down")


def servers(home: Path) -> dict[str, dict[str, Any]]:
    """What `tacho dev status` says of each server."""
    found = tacho("--home", home, "dev", "status", "--json").result["servers"]
    return {server["name"]: server for server in found}


def backend(home: Path) -> Backend:
    """The settings that `up` wrote."""
    return backend_of({"TACHO_CONFIG": str(home / "dev" / "tacho.toml")})


def every_server_is_healthy(home: Path) -> None:
    """Status names each server with its process, port and memory."""
    found = servers(home)
    assert found.keys() == {"kafka-1", "registry", "s3", "redis"}
    assert all(server["healthy"] and server["memory_bytes"] > 1_000_000 for server in found.values())
    text = tacho("--home", home, "dev", "status").out
    assert all(str(server["port"]) in text and str(server["pid"]) in text for server in found.values())


def nobody_outside_can_connect(home: Path) -> None:
    """Every socket of every server listens on 127.0.0.1 alone."""
    assert {address for server in servers(home).values() for address in listening(server["pid"])} == {"127.0.0.1"}


def up_again_changes_nothing(home: Path) -> None:
    """What runs is left alone, and told again."""
    before = servers(home)
    again = tacho("--home", home, "dev", "up", "--json").result
    assert again["started"] == []
    assert again["pids"] == {name: server["pid"] for name, server in before.items()}


def what_is_printed_can_be_run_by_a_shell(home: Path) -> None:
    """`eval "$(tacho dev up)"` sets what the file says: each line is a comment or an export."""
    lines = tacho("--home", home, "dev", "up").out.splitlines()
    exports = dict(shlex.split(line)[1].split("=", 1) for line in lines if not line.startswith("#"))
    assert all(line.startswith(("#", "export TACHO_")) for line in lines)
    assert backend_of(exports) == backend(home)
    key = backend(home).digest_key_file
    assert key is not None
    assert len(key.read_bytes()) == 32
    assert {
        path.stat().st_mode & 0o077 for path in (key, home / "dev" / "tacho.toml", home / "dev" / "servers.json")
    } == {0}


def the_topics_are_there(home: Path) -> None:
    """Nobody has to make them first."""
    kafka = backend(home).kafka
    assert kafka is not None
    report = ensure_topics(kafka, TOPICS)
    assert (report.created, report.drift) == ((), ())


def data_outlives_down_and_up(home: Path) -> None:
    """`down` ends the processes and keeps topics, schemas, objects and keys."""
    found = backend(home)
    assert found.kafka is not None
    assert found.registry is not None
    assert found.s3 is not None
    assert found.redis is not None
    admin = AdminClient({"bootstrap.servers": found.kafka.bootstrap})
    for made in admin.create_topics([NewTopic("kept", 1)]).values():
        made.result(30)
    producer = Producer({"bootstrap.servers": found.kafka.bootstrap})
    producer.produce("kept", b"record")
    assert producer.flush(30) == 0
    subject = f"{found.registry.url}/subjects/kept/versions"
    register(subject)
    minio = Minio(found.s3.url.removeprefix("http://"), found.s3.access_key, found.s3.secret_key.text, secure=False)
    minio.put_object(found.s3.bucket, "kept", io.BytesIO(b"object"), 6)
    with Redis.from_url(found.redis.url.text) as redis:
        redis.set("kept", "value")

    assert set(tacho("--home", home, "dev", "down", "--json").result["ended"]) == {"kafka-1", "registry", "s3", "redis"}
    stopped = tacho("--home", home, "dev", "status", "--json")
    assert stopped.code == 2
    assert {server["pid"] for server in stopped.result["servers"]} == {None}
    assert tacho("--home", home, "dev", "down").out.startswith("nothing runs in ")
    assert tacho("--home", home, "dev", "up").code == 0

    assert backend(home) == found
    assert "kept" in AdminClient({"bootstrap.servers": found.kafka.bootstrap}).list_topics(timeout=30).topics
    with urllib.request.urlopen(subject) as answer:
        assert answer.read() == b"[1]"
    assert minio.get_object(found.s3.bucket, "kept").read() == b"object"
    with Redis.from_url(found.redis.url.text) as redis:
        assert redis.get("kept") == b"value"


def register(url: str) -> None:
    """Register a schema."""
    body = b'{"schema": "\\"string\\""}'
    headers = {"Content-Type": "application/vnd.schemaregistry.v1+json"}
    with urllib.request.urlopen(urllib.request.Request(url, body, headers, method="POST")) as answer:
        assert answer.status == 200
