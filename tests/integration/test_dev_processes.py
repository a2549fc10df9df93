"""`tacho dev` and processes: only its own are ended, a dead one comes back, an interrupted start leaves nothing."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import pytest
from redis import Redis

from cli import Done, tacho
from processes import pids_in
from tachograph.control.dev._process import identity, kill


@pytest.fixture
def home(tmp_path: Path) -> Generator[Path]:
    """A home; what runs in it at the end of the test is ended."""
    yield tmp_path
    kill([found for pid in pids_in(tmp_path / "dev") if (found := identity(pid)) is not None])


def up(home: Path, *options: str) -> Done:
    """Start Redis, the quickest of them."""
    return tacho("--home", home, "dev", "up", "--services", "redis", "--json", *options)


def redis_of(home: Path) -> Redis[bytes]:
    """A client of the home's Redis."""
    (port,) = (server["port"] for server in tacho("--home", home, "dev", "status", "--json").result["servers"])
    return Redis.from_url(f"redis://127.0.0.1:{port}")


def pid_of(done: Done) -> int:
    """The process id of the Redis that runs."""
    pid: int = done.result["pids"]["redis"]
    return pid


def test_a_dead_server_comes_back_on_its_data_and_port(home: Path) -> None:
    """A server that was killed is started again where it was; clients need no new settings."""
    first = up(home)
    with redis_of(home) as redis:
        redis.set("key", "value")
    (running,) = filter(None, [identity(pid_of(first))])
    os.kill(running.pid, signal.SIGTERM)
    kill([running])
    assert tacho("--home", home, "dev", "status").code == 2
    second = up(home)
    assert second.result["started"] == ["redis"]
    assert second.result["settings"] == first.result["settings"]
    with redis_of(home) as redis:
        assert redis.get("key") == b"value"


def test_a_process_that_got_the_same_id_is_never_ended(home: Path) -> None:
    """After a restart of the machine a recorded id may belong to anybody: the start time tells them apart."""
    up(home)
    tacho("--home", home, "dev", "down")
    bystander = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        file = home / "dev" / "servers.json"
        document = json.loads(file.read_text())
        found = identity(bystander.pid)
        assert found is not None
        document["processes"] = {"redis": {"pid": bystander.pid, "started": found.started + "0"}}
        file.write_text(json.dumps(document))
        (server,) = tacho("--home", home, "dev", "status", "--json").result["servers"]
        assert server["pid"] is None
        assert tacho("--home", home, "dev", "down", "--json").result["ended"] == []
        assert bystander.poll() is None
        assert up(home).result["started"] == ["redis"]
        assert bystander.poll() is None
    finally:
        bystander.communicate(b"\n")


def test_brokers_may_come_later(home: Path) -> None:
    """The number of brokers is chosen with the first of them; what runs already is left alone."""
    first = up(home)
    range_of_one = ("--ports", "20000-20000")
    refused = tacho("--home", home, "dev", "up", "--services", "kafka", "--brokers", "3", *range_of_one)
    assert refused.code == 64
    assert "have not 2 free ones left" in refused.err
    again = up(home, "--brokers", "3")
    assert again.result["started"] == []
    assert again.result["pids"] == first.result["pids"]


def test_two_at_once_start_one_set(home: Path) -> None:
    """The second `up` waits for the first and finds its servers."""
    command = [
        sys.executable,
        "-m",
        "tachograph.control",
        "--home",
        str(home),
        "dev",
        "up",
        "--services",
        "redis",
        "--json",
    ]
    runs = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(3)]
    answers = [json.loads(run.communicate()[0])["result"] for run in runs]
    assert len({answer["pids"]["redis"] for answer in answers}) == 1
    assert sorted(answer["started"] for answer in answers) == [[], [], ["redis"]]
    assert len(pids_in(home / "dev")) == 1


INTERRUPTED = """
import os, signal, sys, threading
from pathlib import Path
from tachograph.control import main
from tachograph.control.dev import _server, _up
place, number, arguments = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
fired = 0
def hit(*_):
    global fired
    fired += 1
    if fired == number:
        os.kill(os.getpid(), signal.SIGINT)
def around(module, name):
    real = getattr(module, name)
    def wrapped(*given, **named):
        hit()
        result = real(*given, **named)
        hit()
        return result
    setattr(module, name, wrapped)
around(_server, "spawn")
around(_up, "write_state")
around(_up, "fresh_state")
sys.exit(main(arguments))
"""


@pytest.mark.parametrize("moment", range(1, 13))
def test_ctrl_c_leaves_nothing_running(home: Path, moment: int) -> None:
    """Ctrl-C before, within and after the start of each of two servers: none of them is left, and `up` works then."""
    arguments = ("--home", str(home), "dev", "up", "--services", "redis,s3")
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, str(home), str(moment), *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == 0:
        assert moment > 10, "no interrupt came"
        tacho("--home", home, "dev", "down")
    else:
        assert done.returncode == 130, done.stderr
    assert pids_in(home / "dev") == []


def test_a_killed_start_is_ended_by_down(home: Path) -> None:
    """`up` that is killed with SIGKILL leaves servers, and `down` knows them all."""
    program = INTERRUPTED.replace("signal.SIGINT", "signal.SIGKILL")
    arguments = ("--home", str(home), "dev", "up", "--services", "redis,s3")
    done = subprocess.run([sys.executable, "-c", program, str(home), "10", *arguments], check=False)
    assert done.returncode == -signal.SIGKILL
    assert len(pids_in(home / "dev")) == 2
    assert set(tacho("--home", home, "dev", "down", "--json").result["ended"]) == {"redis", "s3"}
    assert pids_in(home / "dev") == []


def test_a_server_that_does_not_start_is_told_with_its_last_words(home: Path) -> None:
    """Damaged data: the error says which server, where its log is and what it said; nothing is left running."""
    up(home)
    tacho("--home", home, "dev", "down")
    (home / "dev" / "redis" / "appendonlydir" / "appendonly.aof.manifest").write_text("damaged\n")
    done = up(home)
    assert done.code == 70
    assert "redis ended while it started" in done.err
    assert str(home / "dev" / "redis" / "log.txt") in done.err
    assert pids_in(home / "dev") == []


def test_a_port_that_somebody_took_is_replaced(home: Path) -> None:
    """While nothing of the directory runs, a taken port only means a new one."""
    first = up(home)
    tacho("--home", home, "dev", "down")
    port = int(first.result["settings"]["TACHO_REDIS_URL"].rpartition(":")[2].partition("/")[0])
    with socket.create_server(("127.0.0.1", port)):
        second = up(home)
    assert second.result["settings"] != first.result["settings"]
    with redis_of(home) as redis:
        assert redis.ping()
