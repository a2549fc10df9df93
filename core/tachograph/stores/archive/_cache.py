"""What the archive's segments hold, kept in a file of the home: each index is fetched once."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, NamedTuple, cast

import orjson

from tachograph.core.errors import CorruptPayload
from tachograph.stores._database import Database
from tachograph.stores.archive._avro import Block, inflated_index, opening_of
from tachograph.stores.archive._index import BlockRange, RunSpan, SegmentIndex, index_of
from tachograph.stores.archive._write import segments_prefix
from tachograph.stores.s3 import Bucket

TABLES: Final = """
CREATE TABLE segments (
    name TEXT PRIMARY KEY, folder TEXT NOT NULL, last_hlc INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX segments_of_folder ON segments (folder, name);
CREATE TABLE placed (
    run_id TEXT NOT NULL, name TEXT NOT NULL, first_hlc INTEGER NOT NULL, last_hlc INTEGER NOT NULL, range BLOB NOT NULL,
    PRIMARY KEY (run_id, name)
) WITHOUT ROWID;
CREATE TABLE runs (
    run_id TEXT PRIMARY KEY, first_hlc INTEGER NOT NULL, last_hlc INTEGER NOT NULL, touched INTEGER NOT NULL,
    folder TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE rows (
    run_id TEXT PRIMARY KEY, stamp TEXT NOT NULL, row BLOB NOT NULL
) WITHOUT ROWID;
CREATE TABLE effects (
    effect_id TEXT PRIMARY KEY, run_id TEXT NOT NULL, source TEXT NOT NULL, version TEXT NOT NULL, finding BLOB NOT NULL
) WITHOUT ROWID;
CREATE INDEX effects_of_run ON effects (run_id);
"""
VERSION: Final = 1

FIRST_BYTES: Final = 64 * 1024
"""Of a segment: enough for the index of some thousand runs, so that most are fetched in one go."""

LOOK_BACK: Final = 500
"""Names before the newest known one that are listed again: half a page, which costs nothing. A processor that was
replaced while it wrote may finish a segment whose first offset lies behind that of one its successor writes later."""

_FETCHERS: Final = 8

_RUN = """
INSERT INTO runs VALUES (?, ?, ?, 1, ?)
ON CONFLICT (run_id) DO UPDATE SET touched = touched + 1, first_hlc = min(first_hlc, excluded.first_hlc),
    last_hlc = max(last_hlc, excluded.last_hlc)
"""


class Part(NamedTuple):
    """Where some of a run's events lie."""

    name: str
    """Of the segment."""
    first_hlc: int
    range: BlockRange


class SegmentCache:
    """The indexes of a tenant's segments. Safe for several threads and processes.

    Args:
        bucket: where the segments are.
        tenant: whose.
        path: of the file.
    """

    def __init__(self, bucket: Bucket, tenant: str, path: Path | str) -> None:
        self.database: Final = Database(path, TABLES, VERSION)
        self._bucket = bucket
        self._prefix = segments_prefix(tenant)

    def refresh(self, *, whole: bool = False) -> None:
        """Take in the segments that came since the last time.

        Args:
            whole: list every name again, not only the newest.

        Raises:
            StoreUnavailable: the archive cannot be reached, or the file not be used.
            CorruptPayload: a segment is damaged.
        """
        for topic in self._bucket.folders(self._prefix):
            for folder in self._bucket.folders(topic):
                new = self._new(folder, whole=whole)
                if new:
                    with ThreadPoolExecutor(min(_FETCHERS, len(new))) as fetchers:
                        for name, read in zip(new, fetchers.map(self._fetch, new), strict=True):
                            if read is not None:
                                self._take(name, folder, *read)

    def run_ids(self) -> Sequence[tuple[int, str]]:
        """First hlc and id of the runs, oldest first, as of the last refresh."""
        rows = self.database.rows("SELECT first_hlc, run_id FROM runs ORDER BY first_hlc, run_id")
        return cast("list[tuple[int, str]]", rows)

    def parts(self, run_id: str) -> Sequence[Part]:
        """Where a run lies, by its first event; empty where it is not known as of the last refresh."""
        query = "SELECT name, first_hlc, range FROM placed WHERE run_id = ? ORDER BY first_hlc, name"
        rows = cast("list[tuple[str, int, bytes]]", self.database.rows(query, (run_id,)))
        return [Part(name, first_hlc, _range_of(data)) for name, first_hlc, data in rows]

    def _new(self, folder: str, *, whole: bool) -> list[str]:
        query = "SELECT name FROM segments WHERE folder = ? ORDER BY name DESC"
        names = [str(name) for (name,) in self.database.rows(f"{query} LIMIT ?", (folder, -1 if whole else LOOK_BACK))]
        after = "" if whole or len(names) < LOOK_BACK else names[-1]
        known = frozenset(names)
        return [name for name in self._bucket.names(folder, after) if name not in known and name.endswith(".avro")]

    def _fetch(self, name: str) -> tuple[int, SegmentIndex] | None:
        """A segment's index and where its blocks begin; None where it was removed meanwhile."""
        data = self._bucket.get_range(name, 0, FIRST_BYTES)
        if data is None:
            return None
        opening = opening_of(data, name)
        end = opening.index_at + opening.index_size
        if end > len(data):
            data += self._bucket.get_range(name, len(data), end - len(data)) or b""
        index = index_of(inflated_index(data[opening.index_at : end], name), name)
        if segments_prefix(index.tenant) != self._prefix:
            raise CorruptPayload(f"the segment {name}", 0, f"it holds events of another tenant, {index.tenant!r}")
        return opening.start, index

    def _take(self, name: str, folder: str, start: int, index: SegmentIndex) -> None:
        database = self.database
        last = max((run.last_hlc for run in index.runs), default=0)
        with database.transaction():
            if database.rows("SELECT 1 FROM segments WHERE name = ?", (name,)):
                return
            database.change("INSERT INTO segments VALUES (?, ?, ?)", [(name, folder, last)])
            placed = list(index.placed(start))
            database.change("INSERT INTO placed VALUES (?, ?, ?, ?, ?)", [_row(name, *found) for found in placed])
            database.change(_RUN, [(run.run_id, run.first_hlc, run.last_hlc, folder) for run, _ in placed])


def _row(name: str, run: RunSpan, found: BlockRange) -> tuple[str, str, int, int, bytes]:
    blocks = [list(block) for block in found.blocks]
    placed = orjson.dumps([found.start, found.size, found.skip, found.events, blocks])
    return run.run_id, name, run.first_hlc, run.last_hlc, placed


def _range_of(data: bytes) -> BlockRange:
    start, size, skip, events, blocks = orjson.loads(data)
    return BlockRange(start, size, tuple(Block(*block) for block in blocks), skip, events)
