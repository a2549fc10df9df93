"""Real servers for tests: one set for a whole test run, shared by its workers, or own ones for tests that kill them.

    backend = fresh_backend(tmp_path)                    # own topics, bucket and Redis database on the shared servers
    backend = fresh_backend(tmp_path, "s3", "redis")     # starts no others
    with own_kafka(tmp_path, brokers=3) as cluster:      # cluster.settings, cluster.servers[0].kill()

The shared ones start when the first test asks and end with the test run, a crashed one, too: a keeper process waits for
the run's end, and they die with the keeper. Own ones die with the process that runs the test.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import sys
import tempfile
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Final

from minio import Minio
from redis import Redis

from service_plans import S3_ACCESS, Plan, plan
from tachograph.control.dev._others import REDIS_DATABASES
from tachograph.control.dev._ports import Ports
from tachograph.control.dev._process import Process, end, identity, is_alive, kill, send, spawn
from tachograph.control.dev._server import Server
from tachograph.control.dev._sources import pause
from tachograph.stores.backend import (
    Backend,
    KafkaSettings,
    RedisSettings,
    RegistrySettings,
    S3Settings,
    Secret,
)

ALL: Final = ("kafka", "registry", "s3", "redis")
_KEEPER = Path(__file__).with_name("service_keeper.py")


def fresh_backend(directory: Path, *services: str, brokers: int = 1) -> Backend:
    """Servers of the test run, with topics, bucket and Redis database of its own; the digest key lies in `directory`.

    Topics are not made (`ensure_topics` is), the bucket is.

    Args:
        directory: where the digest key goes, as in `tmp_path`.
        services: of `kafka`, `registry`, `s3`, `redis`; all of them by default. What is not named is None.
        brokers: 1 or 3.
    """
    wanted = services or ALL
    assert set(wanted) <= set(ALL), wanted
    _start_together(wanted, brokers)
    number = _next_number()
    key = directory / "digest.key"
    if not key.exists():
        key.write_bytes(number.to_bytes(32, "big"))
    return Backend(
        kafka=KafkaSettings(kafka(brokers).bootstrap, topic_prefix=f"t{number}.") if "kafka" in wanted else None,
        registry=registry() if "registry" in wanted else None,
        s3=_fresh_bucket(number) if "s3" in wanted else None,
        redis=_fresh_database(number) if "redis" in wanted else None,
        digest_key_file=key,
    )


def _start_together(services: Sequence[str], brokers: int) -> None:
    kinds = (f"kafka-{brokers}" if service == "kafka" else service for service in services)
    with ThreadPoolExecutor(len(ALL)) as pool:
        list(pool.map(_shared, kinds))


@cache
def kafka(brokers: int = 1) -> KafkaSettings:
    """The test run's Kafka. Take topic names of your own, or `fresh_backend`."""
    return KafkaSettings(_shared(f"kafka-{brokers}"))


@cache
def registry() -> RegistrySettings:
    """The test run's schema registry. Subjects are named after topics, so own topics do not meet others' subjects."""
    return RegistrySettings(_shared("registry"))


@cache
def s3() -> S3Settings:
    """The test run's S3 store, with a bucket that all share. `fresh_backend` gives one of its own."""
    return _s3_settings(_shared("s3"), S3_ACCESS.bucket)


@cache
def redis() -> RedisSettings:
    """The test run's Redis, database 0, which nobody else of this run gets from `fresh_backend`."""
    return RedisSettings(Secret(f"{_shared('redis')}/0"))


@dataclass(slots=True)
class Running:
    """A server of one test."""

    server: Server
    process: Process

    @property
    def port(self) -> int:
        """Where clients connect."""
        return self.server.port

    @property
    def pid(self) -> int:
        """Its process id."""
        return self.process.pid

    @property
    def alive(self) -> bool:
        """Whether its process runs."""
        return is_alive(self.process)

    def kill(self) -> None:
        """End it with SIGKILL, and wait until it is gone."""
        kill([self.process])

    def stop(self) -> None:
        """Ask it to end, as an orderly shutdown does, and wait until it is gone."""
        end([self.process], 30.0)

    def freeze(self) -> None:
        """SIGSTOP: it holds its connections and answers nothing."""
        send(self.process, signal.SIGSTOP)

    def thaw(self) -> None:
        """SIGCONT."""
        send(self.process, signal.SIGCONT)

    def start(self, *, wait: bool = True) -> None:
        """Start it again on its data."""
        assert not self.alive
        self.process = self.server.start(tied=True)
        if wait:
            self.server.wait(self.process)

    def restart(self) -> None:
        """Kill it, and start it again on its data."""
        self.kill()
        self.start()

    def wait(self) -> None:
        """Wait until it does its work (a broker: until it sees all the others)."""
        self.server.wait(self.process)


@dataclass(frozen=True, slots=True)
class Own:
    """Servers of one test."""

    address: str
    servers: tuple[Running, ...]
    ports: Ports = field(repr=False)

    @property
    def settings(self) -> KafkaSettings:
        """Of a Kafka cluster."""
        return KafkaSettings(self.address)


@contextmanager
def own_kafka(directory: Path, brokers: int = 1) -> Generator[Own]:
    """A Kafka cluster of this test, 2 to 5 seconds to start; ended with the block."""
    with own(f"kafka-{brokers}", directory) as started:
        yield started


@contextmanager
def own(kind: str, directory: Path) -> Generator[Own]:
    """Servers of a kind (`kafka-1`, `kafka-3`, `registry`, `s3`, `redis`) of this test; ended with the block."""
    ports = Ports()
    with started(plan(kind, directory, ports), ports) as running:
        yield running


@contextmanager
def started(planned: Plan, ports: Ports) -> Generator[Own]:
    """Start what is planned, and end it with the block."""
    running: list[Running] = []
    try:
        for server in planned.servers:
            server.make_ready()
        for server in planned.servers:
            running.append(
                Running(server, server.start(tied=True))
            )  # one by one: the failing one must not hide the others
        for one in running:
            one.wait()
        yield Own(planned.address, tuple(running), ports)
    finally:
        kill([one.process for one in running])
        ports.release()


def s3_settings(address: str, bucket: str) -> S3Settings:
    """Settings of an S3 store that a test started; the bucket is made."""
    settings = _s3_settings(address, bucket)
    _make_bucket(settings)
    return settings


def _s3_settings(address: str, bucket: str) -> S3Settings:
    return S3Settings(address, bucket, S3_ACCESS.access_key, Secret(S3_ACCESS.secret_key))


def _fresh_bucket(number: int) -> S3Settings:
    settings = _s3_settings(s3().url, f"t{number:06d}")
    _make_bucket(settings)
    return settings


def _fresh_database(number: int) -> RedisSettings:
    """One that is empty: after a thousand tests their turn comes again. 0 is nobody's."""
    url = f"{_shared('redis')}/{1 + number % (REDIS_DATABASES - 1)}"
    with Redis.from_url(url) as redis:
        redis.flushdb()
    return RedisSettings(Secret(url))


def _make_bucket(settings: S3Settings) -> None:
    host = settings.url.removeprefix("http://")
    Minio(host, settings.access_key, settings.secret_key.text, secure=False).make_bucket(settings.bucket)


def _session() -> Path:
    """The directory of this test run: that of the process that all workers share."""
    owner = identity(_owner())
    assert owner is not None
    ticks = owner.started.rpartition("/")[2]
    place = Path(tempfile.gettempdir()) / f"tachograph-tests-{os.getuid()}" / f"{owner.pid}-{ticks}"
    place.mkdir(parents=True, exist_ok=True, mode=0o700)
    return place


def _owner() -> int:
    """The process of pytest itself: a worker of pytest-xdist is its child."""
    return os.getppid() if "PYTEST_XDIST_WORKER" in os.environ else os.getpid()


def _next_number() -> int:
    """A number, from 1, that no other test of this run gets."""
    with (_session() / "number").open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        number = int(file.read() or "0") + 1
        file.truncate(0)
        file.write(str(number))
    return number


@cache
def _shared(kind: str) -> str:
    """The address of the test run's servers of a kind, started where no worker has yet."""
    place = _session() / kind
    place.mkdir(exist_ok=True)
    with (place / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        told = place / f"{kind}.json"
        if not told.exists():
            _start_keeper(kind, place)
        address: str = json.loads(told.read_text())["address"]
    return address


def _start_keeper(kind: str, place: Path) -> None:
    """Start a keeper, and wait until its servers are ready.

    Raises:
        RuntimeError: they cannot be started; with the reason.
    """
    told, error = place / f"{kind}.json", place / f"{kind}.error"
    error.unlink(missing_ok=True)
    log = place / "keeper.txt"
    command = [sys.executable, str(_KEEPER), kind, str(place), str(_owner())]
    keeper = spawn(command, place, log, os.environ, tied=False)
    while not told.exists():
        if not is_alive(keeper):
            raise RuntimeError(f"{kind} does not start: {(error if error.exists() else log).read_text()}")
        pause(0.05)
