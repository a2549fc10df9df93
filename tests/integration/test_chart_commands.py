"""The chart runs commands that `tacho` has, with options that it knows, and they run with the settings that it gives."""

from __future__ import annotations

import http.client
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from charts import EVERYTHING, containers, render
from services import fresh_backend
from tachograph.control._commands import register_all
from tachograph.control._parser import new_parser
from tachograph.control.dev._ports import Ports
from tachograph.control.dev._sources import pause, seconds
from tachograph.stores.backend import Backend

SECONDS_MAX = 120
"""Of a processor's start on a machine with much else to do."""


@pytest.mark.parametrize("values", [{}, EVERYTHING], ids=["defaults", "everything"])
def test_tacho_understands_its_arguments(values: dict[str, Any]) -> None:
    """What each container runs is a command line that this release has."""
    for container in containers(render(values)):
        assert "tacho" in container["command"]
        parser, commands = new_parser("0")
        register_all(commands)
        parser.parse_args(shlex.split(shlex.join(container["args"])))


@pytest.mark.parametrize(("ends", "fails"), [(0, False), (1, False), (2, True), (64, True), (70, True)])
@pytest.mark.parametrize("strict", [False, True])
def test_drift_stops_an_upgrade_only_where_it_shall(tmp_path: Path, ends: int, fails: bool, strict: bool) -> None:
    """The topic job bears exit code 1, which says that topics differ, and no other."""
    tacho = tmp_path / "tacho"
    tacho.write_text(f'#!/bin/sh\ntest "$*" = "topics ensure" || exit 99\nexit {ends}\n')
    tacho.chmod(0o755)
    (job,) = [found for found in containers(render({"topics": {"failOnDrift": strict}})) if found["name"] == "topics"]
    environment = {"PATH": f"{tmp_path}:{os.defpath}"}
    done = subprocess.run([*job["command"], *job["args"]], env=environment, check=False)
    assert bool(done.returncode) == (fails or (strict and ends == 1))


def values_of(backend: Backend, port: int) -> dict[str, Any]:
    """The chart's values for servers that are there."""
    assert backend.kafka is not None
    assert backend.registry is not None
    assert backend.s3 is not None
    return {
        "kafka": {"bootstrap": backend.kafka.bootstrap, "topicPrefix": backend.kafka.topic_prefix},
        "registry": {"url": backend.registry.url},
        "s3": {"url": backend.s3.url, "bucket": backend.s3.bucket},
        "metrics": {"port": port},
    }


def environment_of(container: Mapping[str, Any], backend: Backend, home: Path) -> dict[str, str]:
    """The environment of a container, its secrets read, its home a directory of this machine, and nothing else."""
    assert backend.s3 is not None
    assert backend.redis is not None
    secrets = {
        "TACHO_S3_ACCESS_KEY": backend.s3.access_key,
        "TACHO_S3_SECRET_KEY": backend.s3.secret_key.text,
        "TACHO_REDIS_URL": backend.redis.url.text,
    }
    given = {found["name"]: found.get("value", secrets.get(found["name"], "")) for found in container["env"]}
    assert given["TACHO_HOME"] == "/var/lib/tachograph"
    return {"PATH": os.defpath, **given, "TACHO_HOME": str(home)}


def test_the_containers_run(tmp_path: Path) -> None:
    """On real servers: the job makes the topics, each processor becomes healthy, and ends in order when asked to."""
    backend, ports = fresh_backend(tmp_path), Ports()
    (port,) = ports.take(1)
    found = {container["name"]: container for container in containers(render(values_of(backend, port)))}
    tacho = [sys.executable, "-m", "tachograph.control"]
    topics = found.pop("topics")
    environment = environment_of(topics, backend, tmp_path / "home")
    done = subprocess.run([*tacho, *topics["args"]], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for name, container in found.items():
        environment = environment_of(container, backend, tmp_path / name)
        with (tmp_path / f"{name}.txt").open("wb") as output:
            process = subprocess.Popen([*tacho, *container["args"]], env=environment, stdout=output, stderr=output)
        try:
            wait_until_healthy(process, port, tmp_path / f"{name}.txt")
            process.send_signal(signal.SIGTERM)
            assert process.wait(SECONDS_MAX) == 0, (tmp_path / f"{name}.txt").read_text()
        finally:
            process.kill()
            process.wait()
    ports.release()


def wait_until_healthy(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    """Ask as the startup probe does."""
    deadline = seconds() + SECONDS_MAX
    while answer(port) != http.HTTPStatus.OK:
        assert process.poll() is None, log.read_text()
        assert seconds() < deadline, log.read_text()
        pause(0.2)


def answer(port: int) -> int:
    """What `/healthz` says; 0: nothing."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/healthz")
        return connection.getresponse().status
    except OSError:
        return 0
    finally:
        connection.close()
