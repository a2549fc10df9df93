"""What the archive's segments hold, kept in a file of the home: each index is fetched once."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple, cast

import orjson

from tachograph.core.causality import hlc_ms
from tachograph.core.errors import CorruptPayload, EvidenceBroken
from tachograph.stores._database import Database
from tachograph.stores.archive._avro import Block, inflated_index, opening_of
from tachograph.stores.archive._index import BlockRange, RunSpan, SegmentIndex, index_of
from tachograph.stores.archive._write import segments_prefix
from tachograph.stores.s3 import Bucket

_LOG: Final = logging.getLogger("tachograph.archive")

QUIET_MS: Final = 3_600_000
"""A run that never ended counts as over when its partition holds an event so much later."""

TABLES: Final = """
CREATE TABLE segments (
    name TEXT PRIMARY KEY, folder TEXT NOT NULL, last_hlc INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX segments_of_folder ON segments (folder, name);
CREATE TABLE placed (
    run_id TEXT NOT NULL, name TEXT NOT NULL, first_hlc INTEGER NOT NULL, last_hlc INTEGER NOT NULL, range BLOB NOT NULL,
    PRIMARY KEY (run_id, name)
) WITHOUT ROWID;
CREATE TABLE covered (
    run_id TEXT NOT NULL, name TEXT NOT NULL, PRIMARY KEY (run_id, name)
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
CREATE TABLE damaged (
    name TEXT PRIMARY KEY, reason TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE paged (
    run_id TEXT NOT NULL, name TEXT NOT NULL, whole INTEGER NOT NULL, PRIMARY KEY (run_id, name)
) WITHOUT ROWID;
CREATE TABLE pages (
    run_id TEXT NOT NULL, name TEXT NOT NULL, number INTEGER NOT NULL, first_hlc INTEGER NOT NULL,
    last_hlc INTEGER NOT NULL, events INTEGER NOT NULL, mark INTEGER NOT NULL, told BLOB NOT NULL,
    PRIMARY KEY (run_id, name, number)
) WITHOUT ROWID;
CREATE TABLE lines (
    run_id TEXT NOT NULL, agent_id TEXT NOT NULL, incarnation INTEGER NOT NULL, first INTEGER NOT NULL,
    name TEXT NOT NULL, number INTEGER NOT NULL, last INTEGER NOT NULL, steps INTEGER NOT NULL,
    PRIMARY KEY (run_id, agent_id, incarnation, first, name)
) WITHOUT ROWID;
CREATE TABLE edges (
    run_id TEXT NOT NULL, agent_id TEXT NOT NULL, incarnation INTEGER NOT NULL, seq INTEGER NOT NULL,
    by_agent TEXT NOT NULL, by_incarnation INTEGER NOT NULL, by_seq INTEGER NOT NULL,
    PRIMARY KEY (run_id, agent_id, incarnation, seq, by_agent, by_incarnation, by_seq)
) WITHOUT ROWID;
CREATE TABLE opened (
    run_id TEXT NOT NULL, agent_id TEXT NOT NULL, incarnation INTEGER NOT NULL, seq INTEGER NOT NULL,
    name TEXT NOT NULL
) STRICT;
CREATE INDEX opened_by ON opened (run_id, agent_id);
"""
VERSION: Final = 3

FIRST_BYTES: Final = 64 * 1024
"""Of a segment: enough for the index of some thousand runs, so that most are fetched in one go."""

LOOK_BACK: Final = 500
"""Names before the newest known one that are listed again: half a page, which costs nothing. A processor that was
replaced while it wrote may finish a segment whose first offset lies behind that of one its successor writes later."""

_FETCHERS: Final = 8

_RUN = """
INSERT INTO runs VALUES (?, ?, ?, 1, ?)
ON CONFLICT (run_id) DO UPDATE SET touched = touched + 1, first_hlc = min(first_hlc, excluded.first_hlc),
    last_hlc = max(last_hlc, excluded.last_hlc),
    folder = CASE WHEN folder LIKE '%/segments/compacted/%' THEN excluded.folder ELSE folder END
"""


_PARTS = """
SELECT name, first_hlc, last_hlc, range FROM placed
WHERE run_id = ?1 AND name NOT IN (SELECT name FROM covered WHERE run_id = ?1) ORDER BY first_hlc, name
"""


class Part(NamedTuple):
    """Where some of a run's events lie."""

    name: str
    """Of the segment."""
    first_hlc: int
    last_hlc: int
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
        """
        with ThreadPoolExecutor(_FETCHERS) as fetchers:
            topics = self._bucket.folders(self._prefix)
            folders = [folder for found in fetchers.map(self._folders, topics) for folder in found]
            lists = fetchers.map(partial(self._new, whole=whole), folders)
            for folder, new in zip(folders, lists, strict=True):
                self._take_in(folder, new, fetchers.map(self._fetch_whole, new))

    def is_over(self, run_id: str) -> bool:
        """Whether a run's partition moved on without it, so far that no more of it is expected."""
        query = "SELECT last_hlc, (SELECT max(last_hlc) FROM segments WHERE folder = runs.folder) FROM runs WHERE run_id = ?"
        rows = cast("list[tuple[int, int]]", self.database.rows(query, (run_id,)))
        return any(hlc_ms(last) + QUIET_MS < hlc_ms(newest) for last, newest in rows)

    def newest_hlc(self) -> int:
        """Of all events, as of the last refresh."""
        ((newest,),) = cast("list[tuple[int | None]]", self.database.rows("SELECT max(last_hlc) FROM segments"))
        return newest or 0

    def damaged(self) -> Sequence[tuple[str, str]]:
        """Name of each segment whose index cannot be read, and why, as of the last refresh."""
        return cast("list[tuple[str, str]]", self.database.rows("SELECT name, reason FROM damaged ORDER BY name"))

    def run_ids(self) -> Sequence[tuple[int, str]]:
        """First hlc and id of the runs, oldest first, as of the last refresh."""
        rows = self.database.rows("SELECT first_hlc, run_id FROM runs ORDER BY first_hlc, run_id")
        return cast("list[tuple[int, str]]", rows)

    def parts(self, run_id: str) -> Sequence[Part]:
        """Where a run lies, by its first event; empty where it is not known as of the last refresh."""
        rows = cast("list[tuple[str, int, int, bytes]]", self.database.rows(_PARTS, (run_id,)))
        return [Part(name, first, last, _range_of(data)) for name, first, last, data in rows]

    def _new(self, folder: str, *, whole: bool) -> list[str]:
        query = "SELECT name FROM segments WHERE folder = ? ORDER BY name DESC"
        names = [str(name) for (name,) in self.database.rows(f"{query} LIMIT ?", (folder, -1 if whole else LOOK_BACK))]
        after = "" if whole or len(names) < LOOK_BACK else names[-1]
        known = frozenset(names)
        return [name for name in self._bucket.names(folder, after) if name not in known and name.endswith(".avro")]

    def _folders(self, topic: str) -> Sequence[str]:
        return list(self._bucket.folders(topic))

    def _take_in(
        self, folder: str, names: Sequence[str], fetched: Iterable[tuple[int, SegmentIndex] | EvidenceBroken | None]
    ) -> None:
        for name, read in zip(names, fetched, strict=True):
            if isinstance(read, EvidenceBroken):
                _LOG.warning("tachograph: a segment of the archive is passed over: %s", read)
                with self.database.transaction():
                    self.database.change("INSERT OR REPLACE INTO damaged VALUES (?, ?)", [(name, str(read))])
            elif read is not None:
                self._take(name, folder, *read)

    def _fetch_whole(self, name: str) -> tuple[int, SegmentIndex] | EvidenceBroken | None:
        """The same; one damaged segment does not keep the others from being read."""
        try:
            return self._fetch(name)
        except EvidenceBroken as error:
            return error

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
            database.change("DELETE FROM damaged WHERE name = ?", [(name,)])
            placed = list(index.placed(start))
            database.change("INSERT INTO placed VALUES (?, ?, ?, ?, ?)", [_row(name, *found) for found in placed])
            covered = [(run.run_id, other) for run, _ in placed for other in index.covers if other != name]
            database.change("INSERT OR IGNORE INTO covered VALUES (?, ?)", covered)
            database.change(_RUN, [(run.run_id, run.first_hlc, run.last_hlc, folder) for run, _ in placed])


def _row(name: str, run: RunSpan, found: BlockRange) -> tuple[str, str, int, int, bytes]:
    blocks = [list(block) for block in found.blocks]
    placed = orjson.dumps([found.start, found.size, found.skip, found.events, blocks])
    return run.run_id, name, run.first_hlc, run.last_hlc, placed


def _range_of(data: bytes) -> BlockRange:
    start, size, skip, events, blocks = orjson.loads(data)
    return BlockRange(start, size, tuple(Block(*block) for block in blocks), skip, events)
