"""Removing a spool that the archive holds. Whatever a crash interrupts, the home is whole, and the next attempt goes on.

1. What stays of the spool is written durably: from then on it counts as removed (`stores._retired`).
2. The catalogue lets go of it.
3. It gets a name under which nobody looks for spools; then its files go.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tachograph.core.errors import StoreUnavailable
from tachograph.stores._catalogue import SqliteCatalogue
from tachograph.stores._catalogue_index import CatalogueIndex
from tachograph.stores._database import IN_MEMORY, Database, Row
from tachograph.stores._files import reason_of, sync_directory
from tachograph.stores._retired import Retired, StreamKey, is_retired, keep_retired
from tachograph.stores._segments import SpoolState, look_at

_GONE: Final = ".removed-"


def retire(catalogue: SqliteCatalogue, spool: Path, streams: Mapping[StreamKey, int], events: int) -> None:
    """Let a spool count as removed; the caller holds its `Shipment` and has found all its events in the archive.

    Args:
        catalogue: of the home.
        spool: the spool's directory.
        streams: the last number of each stream (run, agent, incarnation) in it.
        events: how many it holds.

    Raises:
        StoreUnavailable: the operating system refuses.
    """
    log = spool.parent
    try:
        if not is_retired(log, spool.name):
            keep_retired(log, Retired(spool.name, events, streams, _effects(log, spool.name)))
        catalogue.refresh()
        if spool.is_dir():
            gone = log / f"{_GONE}{spool.name}"
            spool.rename(gone)
            sync_directory(log)
            shutil.rmtree(gone)
    except OSError as error:
        raise StoreUnavailable(str(spool), reason_of(error)) from error


def clear(log_directory: Path) -> None:
    """Remove what a crash left of spools that were being removed.

    Raises:
        StoreUnavailable: the operating system refuses.
    """
    try:
        left = [entry.path for entry in os.scandir(log_directory) if entry.name.startswith(_GONE)]
        for path in left:
            shutil.rmtree(path, ignore_errors=True)  # somebody else may be about it
    except OSError as error:
        raise StoreUnavailable(str(log_directory), reason_of(error)) from error


def _effects(log_directory: Path, name: str) -> list[Row]:
    """Where the effects of a spool stand, from the spool itself: no catalogue, which may be old, is asked."""
    database = Database(IN_MEMORY)
    try:
        spool = look_at(log_directory, name)
        if spool.state is SpoolState.OPEN:
            raise StoreUnavailable(str(spool.path), "its writer lives")
        CatalogueIndex(log_directory, database).read(spool)
        return database.rows("SELECT * FROM transitions ORDER BY effect_id")
    finally:
        database.close()
