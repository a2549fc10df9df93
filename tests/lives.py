"""A processor that is killed and started again, in processes of their own; each life begins where the one before committed.

The script of a processor is run as `python SCRIPT SETTINGS [POINT COUNT]`, until SIGTERM, or killed at the COUNT-th passing
of a point; SETTINGS is a JSON object: bootstrap, prefix, s3 (url, bucket, access key, secret key), directory, group.
"""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from archive_topology import PARTITIONS, Topology, committed, wait_until
from chains import Clock, small_fleet
from tachograph.stores.backend import Backend, KafkaSettings, S3Settings, Secret


def fleets(count: int, calls: int) -> list[bytes]:
    """Runs whose events lie between each other's."""
    clock = Clock()
    runs = [small_fleet(f"run-{number}", clock=clock, calls=calls) for number in range(count)]
    return [payload for events in itertools.zip_longest(*runs) for payload in events if payload is not None]


class Lives:
    """One process after the other.

    A group waits 45 seconds for a member that was killed; a group of another name with its offsets does not.

    Args:
        servers: of all lives.
        script: in the tests' directory.
    """

    def __init__(self, servers: Topology, script: str) -> None:
        self._servers = servers
        self._script = Path(__file__).with_name(script)
        self._admin = AdminClient({"bootstrap.servers": servers.kafka.bootstrap})
        self._number = 0

    @property
    def group(self) -> str:
        """Of this life."""
        return f"{self._script.stem}-{self._number}"

    def committed(self) -> int:
        """Of this life; 0 while its group has no coordinator yet."""
        try:
            return committed(self._servers, self.group)
        except KafkaException:
            return 0

    def start(self, *point: str) -> subprocess.Popen[bytes]:
        """Begin the next life; it ends by itself at a point."""
        before, self._number = self.group, self._number + 1
        if self._number > 1:
            self._take_over(before)
        s3 = self._servers.backend.s3
        assert s3 is not None
        told = {
            "bootstrap": self._servers.kafka.bootstrap,
            "prefix": self._servers.kafka.topic_prefix,
            "s3": [s3.url, s3.bucket, s3.access_key, s3.secret_key.text],
            "directory": str(self._servers.directory / self.group),
            "group": self.group,
        }
        return subprocess.Popen([sys.executable, str(self._script), json.dumps(told), *point], cwd=self._script.parent)

    def start_and_die(self, point: str, count: int) -> None:
        """A life that ends at a point."""
        process = self.start(point, str(count))
        try:
            assert process.wait(60) == -signal.SIGKILL, point
        finally:
            process.kill()

    def start_and_kill(self, least: int) -> None:
        """A life that is killed once so many events are committed."""
        process = self.start()
        try:
            wait_until(lambda: self.committed() >= least)
        finally:
            process.kill()
            process.wait(20)

    def finish(self, events: int) -> None:
        """One life that ends as it should."""
        process = self.start()
        try:
            wait_until(lambda: self.committed() >= events)
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0
        finally:
            process.kill()

    def _take_over(self, before: str) -> None:
        places = [TopicPartition(self._servers.events, number) for number in range(PARTITIONS)]
        asked = [ConsumerGroupTopicPartitions(before, places)]
        found = self._admin.list_consumer_group_offsets(asked)[before].result(20)
        known = [place for place in found.topic_partitions if place.offset >= 0]
        if known:
            moved = [ConsumerGroupTopicPartitions(self.group, known)]
            self._admin.alter_consumer_group_offsets(moved)[self.group].result(20)


@dataclass(frozen=True, slots=True)
class Life:
    """What the script of a processor is told."""

    backend: Backend
    directory: Path
    group: str
    stop: threading.Event


def life(text: str) -> Life:
    """Of the script's first argument; SIGTERM sets `stop`."""
    told = json.loads(text)
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    url, bucket, access_key, secret_key = told["s3"]
    backend = Backend(
        kafka=KafkaSettings(told["bootstrap"], topic_prefix=told["prefix"]),
        s3=S3Settings(url, bucket, access_key, Secret(secret_key)),
    )
    return Life(backend, Path(told["directory"]), told["group"], stop)


def die_at(places: Mapping[str, tuple[object, str]], point: str, count: str) -> None:
    """Kill this process before or after something is done for the `count`-th time.

    Args:
        places: whose function it is, and its name, by what it does.
        point: as in `before commit`; nothing is killed where it is empty.
        count: from 1.
    """
    where, _, what = point.partition(" ")
    if what in places:
        owner, name = places[what]
        setattr(owner, name, _deadly(getattr(owner, name), where, int(count)))


def points(places: Mapping[str, tuple[object, str]]) -> tuple[str, ...]:
    """Where it can die."""
    return tuple(f"{where} {what}" for what in places for where in ("before", "after"))


def _deadly(function: Callable[..., object], where: str, count: int) -> Callable[..., object]:
    numbers = itertools.count(1)

    def call(*arguments: object, **named: object) -> object:
        number = next(numbers)  # it may be called by several threads
        if number == count and where == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        result = function(*arguments, **named)
        if number == count:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    return call
