"""`python archive_process.py SETTINGS [POINT COUNT]`: the archive, until SIGTERM, or killed at the COUNT-th passing of a point.

SETTINGS is a JSON object: bootstrap, prefix, s3 (url, bucket, access key, secret key), directory, group.
"""

from __future__ import annotations

import dataclasses
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
from tachograph.stores.s3 import Bucket
from tachograph.stream_processors._outlet import Outlet
from tachograph.stream_processors.archive import _processor, run_archive
from tachograph.stream_processors.archive._state import AuditStates

POINTS: Final = tuple(
    f"{where} {what}" for what in ("segment", "put", "findings", "audit", "commit") for where in ("before", "after")
)


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
    from archive_topology import QUICK

    run_archive(Path(told["directory"]), backend, stop, dataclasses.replace(QUICK, group=told["group"]))


def _die_at(point: str, count: int) -> None:
    where, _, what = point.partition(" ")
    places: dict[str, tuple[object, str]] = {
        "segment": (_processor, "write_segment"),
        "put": (Bucket, "put_new"),
        "findings": (Outlet, "flush"),
        "audit": (AuditStates, "save"),
        "commit": (EventConsumer, "commit"),
    }
    if what in places:
        owner, name = places[what]
        setattr(owner, name, _deadly(getattr(owner, name), where, count))


def _deadly(function: Callable[..., object], where: str, count: int) -> Callable[..., object]:
    passed = 0

    def call(*arguments: object, **named: object) -> object:
        nonlocal passed
        passed += 1
        if passed == count and where == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        result = function(*arguments, **named)
        if passed == count:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    return call


if __name__ == "__main__":
    main(*sys.argv[1:])
