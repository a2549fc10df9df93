"""The fold as a process of its own; see `lives`."""

from __future__ import annotations

import dataclasses
import sys
from typing import Final

from fold_topology import QUICK
from lives import die_at, life, points
from tachograph.stores.kafka import EventConsumer
from tachograph.stream_processors.fold import FoldStep, run_fold
from tachograph.stream_processors.fold._books import Books
from tachograph.stream_processors.fold._outlet import FoldOutlet
from tachograph.stream_processors.fold._past import StoredPast

PLACES: Final[dict[str, tuple[object, str]]] = {
    "checkpoint": (FoldStep, "checkpoint"),
    "findings": (FoldOutlet, "flush"),
    "snapshot": (StoredPast, "save"),
    "book": (Books, "save"),
    "commit": (EventConsumer, "commit"),
}
POINTS: Final = points(PLACES)


def main(text: str, point: str = "", count: str = "0") -> None:
    """Run until told otherwise."""
    told = life(text)
    die_at(PLACES, point, count)
    run_fold(told.directory, told.backend, told.stop, dataclasses.replace(QUICK, group=told.group))


if __name__ == "__main__":
    main(*sys.argv[1:])
