"""The archive as a process of its own; see `lives`."""

from __future__ import annotations

import dataclasses
import sys
from typing import Final

from archive_topology import QUICK
from lives import die_at, life, points
from tachograph.stores.kafka import EventConsumer
from tachograph.stores.s3 import Bucket
from tachograph.stream_processors._outlet import Outlet
from tachograph.stream_processors.archive import _processor, run_archive
from tachograph.stream_processors.archive._state import AuditStates

PLACES: Final[dict[str, tuple[object, str]]] = {
    "segment": (_processor, "write_segment"),
    "put": (Bucket, "put_new"),
    "findings": (Outlet, "flush"),
    "audit": (AuditStates, "save"),
    "commit": (EventConsumer, "commit"),
}
POINTS: Final = points(PLACES)


def main(text: str, point: str = "", count: str = "0") -> None:
    """Run until told otherwise."""
    told = life(text)
    die_at(PLACES, point, count)
    run_archive(told.directory, told.backend, told.stop, dataclasses.replace(QUICK, group=told.group))


if __name__ == "__main__":
    main(*sys.argv[1:])
