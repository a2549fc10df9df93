"""`python fold_process.py SETTINGS [POINT COUNT]`: the fold, until SIGTERM, or killed at the COUNT-th passing of a point.

SETTINGS is a JSON object: bootstrap, prefix, s3 (url, bucket, access key, secret key), directory, group.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final

from tachograph.stores.backend import Backend, KafkaSettings, S3Settings, Secret
from tachograph.stores.kafka import EventConsumer
from tachograph.stream_processors.fold import FoldStep, run_fold
from tachograph.stream_processors.fold._books import Books
from tachograph.stream_processors.fold._outlet import FoldOutlet
from tachograph.stream_processors.fold._past import StoredPast

POINTS: Final = (
    "before checkpoint", "after checkpoint", "before findings", "after findings", "before snapshot", "after snapshot",
    "before book", "after book", "before commit", "after commit",
)  # fmt: skip


def main(text: str, point: str = "", count: str = "0") -> None:
    """Run until told otherwise."""
    told = json.loads(text)
    _die_at(point, int(count))
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    url, bucket, access_key, secret_key = told["s3"]
    backend = Backend(
        kafka=KafkaSettings(told["bootstrap"], topic_prefix=told["prefix"]),
        s3=S3Settings(url, bucket, access_key, Secret(secret_key)),
    )
    from fold_topology import QUICK

    run_fold(Path(told["directory"]), backend, stop, dataclasses.replace(QUICK, group=told["group"]))


def _die_at(point: str, count: int) -> None:
    where, _, what = point.partition(" ")
    places: dict[str, tuple[object, str]] = {
        "checkpoint": (FoldStep, "checkpoint"),
        "findings": (FoldOutlet, "flush"),
        "snapshot": (StoredPast, "save"),
        "book": (Books, "save"),
        "commit": (EventConsumer, "commit"),
    }
    if what in places:
        owner, name = places[what]
        setattr(owner, name, _deadly(getattr(owner, name), where, count))


def _deadly(function: Callable[..., object], where: str, count: int) -> Callable[..., object]:
    numbers = itertools.count(1)

    def call(*arguments: object, **named: object) -> object:
        number = next(numbers)  # several threads store snapshots
        if number == count and where == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        result = function(*arguments, **named)
        if number == count:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    return call


if __name__ == "__main__":
    main(*sys.argv[1:])
