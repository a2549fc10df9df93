"""The pages of runs, kept beside the indexes of their segments: fetched for a run when it is first asked for a cut."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final, NamedTuple, cast

from tachograph.core.errors import CorruptPayload
from tachograph.stores._database import Database
from tachograph.stores.archive._avro import opening_of, pages_span
from tachograph.stores.archive._cache import FIRST_BYTES, Part, SegmentCache
from tachograph.stores.archive._index import BlockRange
from tachograph.stores.archive._pages import PageTold, mark_of, page_bytes, page_of, pages_of, ranges_of
from tachograph.stores.s3 import Bucket

_LOG: Final = logging.getLogger("tachograph.archive")

_FETCHERS: Final = 8
_KEY_BYTES: Final = 40
"""Before the pages in a header: their name, and how many bytes they are."""

StreamKey = tuple[str, int]
"""(agent_id, incarnation)."""


class Page(NamedTuple):
    """A few blocks of a run, of which is known what is in them."""

    first_hlc: int
    last_hlc: int
    name: str
    """Of the segment."""
    number: int
    """In the run's part of it."""
    events: int
    mark: int
    range: BlockRange

    @property
    def part(self) -> Part:
        """The page as something to read."""
        return Part(self.name, self.first_hlc, self.last_hlc, self.range)


class LinePlace(NamedTuple):
    """What of one stream lies in a page."""

    first: int
    last: int
    steps: int
    name: str
    number: int


class RunPages:
    """The pages of one run, as of the last refresh.

    Args:
        database: the cache.
        run_id: of the run.
        parts: where it lies.
    """

    def __init__(self, database: Database, run_id: str, parts: Sequence[Part]) -> None:
        self.run_id: Final = run_id
        self._database = database
        self._ranges: Mapping[str, list[BlockRange]] = {part.name: list(ranges_of(part.range)) for part in parts}
        self.pages: Final[Sequence[Page]] = sorted(self._listed())
        """By their first event."""
        self._told: dict[tuple[str, int], PageTold] = {}

    def told(self, page: Page) -> PageTold:
        """What is known of a page."""
        key = page.name, page.number
        found = self._told.get(key)
        if found is None:
            query = "SELECT told FROM pages WHERE run_id = ? AND name = ? AND number = ?"
            ((data,),) = cast("list[tuple[bytes]]", self._database.rows(query, (self.run_id, *key)))
            found = self._told[key] = page_of(data)
        return found

    def lines(self, stream: StreamKey) -> list[LinePlace]:
        """Where a stream lies, in order; empty where it is not known."""
        query = (
            "SELECT first, last, steps, name, number FROM lines WHERE run_id = ? AND agent_id = ? AND incarnation = ?"
        )
        rows = cast("list[tuple[int, int, int, str, int]]", self._database.rows(query, (self.run_id, *stream)))
        return [place for row in rows if (place := LinePlace(*row)).name in self._ranges]

    def holds(self, stream: StreamKey, seq: int) -> bool:
        """Whether there is such an event."""
        return self.page_with(stream, seq) is not None

    def page_with(self, stream: StreamKey, seq: int) -> Page | None:
        """The page that an event lies in."""
        places = {line[3:] for line in self.lines(stream) if line.first <= seq <= line.last}
        return next((page for page in self.pages if (page.name, page.number) in places), None)

    def streams(self) -> Mapping[StreamKey, tuple[int, bool]]:
        """Stream to its last `seq`, and whether each event up to it is there exactly once."""
        query = "SELECT agent_id, incarnation, first, last, name FROM lines WHERE run_id = ?"
        found: dict[StreamKey, tuple[int, int, int]] = {}
        for agent_id, incarnation, first, last, name in cast(
            "list[tuple[str, int, int, int, str]]", self._database.rows(query, (self.run_id,))
        ):
            if name in self._ranges:
                top, count, total = found.get((agent_id, incarnation), (0, 0, 0))
                whole = mark_of((agent_id, incarnation), first, last)
                found[agent_id, incarnation] = max(top, last), count + last - first + 1, total + whole
        return {key: (top, _is_whole(key, top, count, total)) for key, (top, count, total) in found.items()}

    def dependants(self, stream: StreamKey, seq: int) -> list[tuple[StreamKey, int]]:
        """The events of other streams that name an event as a cause, as (stream, seq)."""
        query = (
            "SELECT by_agent, by_incarnation, by_seq FROM edges "
            "WHERE run_id = ? AND agent_id = ? AND incarnation = ? AND seq = ?"
        )
        rows = cast("list[tuple[str, int, int]]", self._database.rows(query, (self.run_id, *stream, seq)))
        return [((agent_id, incarnation), by_seq) for agent_id, incarnation, by_seq in rows]

    def opened(self, agent_id: str) -> list[tuple[int, int]]:
        """(life of the agent, `seq`) of its events behind which it opened a child; life 0 where it is not known."""
        query = "SELECT incarnation, seq, name FROM opened WHERE run_id = ? AND agent_id = ? ORDER BY seq"
        rows = cast("list[tuple[int, int, str]]", self._database.rows(query, (self.run_id, agent_id)))
        return [(incarnation, seq) for incarnation, seq, name in rows if name in self._ranges]

    def _listed(self) -> Iterable[Page]:
        query = "SELECT first_hlc, last_hlc, name, number, events, mark FROM pages WHERE run_id = ?"
        rows = cast("list[tuple[int, int, str, int, int, int]]", self._database.rows(query, (self.run_id,)))
        for first, last, name, number, events, mark in rows:
            if name in self._ranges:
                yield Page(first, last, name, number, events, mark, self._ranges[name][number])


def _is_whole(stream: StreamKey, top: int, count: int, total: int) -> bool:
    return count == top and (total - mark_of(stream, 1, top)) % (1 << 32) == 0


class PageCache:
    """Fetches the pages of runs and keeps them. Safe for several threads and processes.

    Args:
        bucket: where the segments are.
        cache: of their indexes.
    """

    def __init__(self, bucket: Bucket, cache: SegmentCache) -> None:
        self._bucket = bucket
        self._cache = cache

    def run(self, run_id: str) -> RunPages | None:
        """The pages of a run, as of the last refresh; None where some of it has none, or is not known at all.

        Raises:
            StoreUnavailable: the archive cannot be reached.
        """
        parts = self._cache.parts(run_id)
        database = self._cache.database
        query = "SELECT name, whole FROM paged WHERE run_id = ?"
        known = dict(cast("list[tuple[str, int]]", database.rows(query, (run_id,))))
        new = [part for part in parts if part.name not in known]
        if new:
            with ThreadPoolExecutor(_FETCHERS) as fetchers:
                for part, pages in zip(new, fetchers.map(partial(self._fetched_whole, run_id), new), strict=True):
                    known[part.name] = int(pages is not None)
                    self._take(run_id, part.name, pages)
        if not parts or not all(known[part.name] for part in parts):
            return None
        return RunPages(database, run_id, parts)

    def _fetched_whole(self, run_id: str, part: Part) -> Sequence[PageTold] | None:
        """The same; what is damaged tells nothing, and whoever reads the events finds out."""
        try:
            return self._fetched(run_id, part)
        except CorruptPayload as error:
            _LOG.warning("tachograph: a run is read whole: %s", error)
            return None

    def _fetched(self, run_id: str, part: Part) -> Sequence[PageTold] | None:
        first = self._bucket.get_range(part.name, 0, FIRST_BYTES) or b""
        opening = opening_of(first, part.name)
        behind = opening.index_at + opening.index_size
        if behind + _KEY_BYTES > len(first):
            first += self._bucket.get_range(part.name, len(first), behind + _KEY_BYTES - len(first)) or b""
        span = pages_span(first, opening)
        if span is None:
            return None
        at, size = span
        if at + size > len(first):
            first += self._bucket.get_range(part.name, len(first), at + size - len(first)) or b""
        return pages_of(first[at : at + size], part.name, run_id)

    def _take(self, run_id: str, name: str, pages: Sequence[PageTold] | None) -> None:
        database, told = self._cache.database, pages or ()
        with database.transaction():
            database.change("INSERT OR REPLACE INTO paged VALUES (?, ?, ?)", [(run_id, name, int(pages is not None))])
            database.change("DELETE FROM opened WHERE run_id = ? AND name = ?", [(run_id, name)])
            database.change(
                "INSERT OR REPLACE INTO pages VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                [
                    (run_id, name, number, page.first_hlc, page.last_hlc, page.events, page.mark, page_bytes(page))
                    for number, page in enumerate(told)
                ],
            )
            database.change(
                "INSERT OR REPLACE INTO lines VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                [
                    (run_id, line.agent_id, line.incarnation, line.first, name, number, line.last, line.steps)
                    for number, page in enumerate(told)
                    for line in page.lines
                ],
            )
            database.change(
                "INSERT OR IGNORE INTO edges VALUES (?, ?, ?, ?, ?, ?, ?)",
                [(run_id, *edge[3:], *edge[:3]) for page in told for edge in page.edges],
            )
            database.change(
                "INSERT INTO opened VALUES (?, ?, ?, ?, ?)",
                [(run_id, *one, name) for page in told for one in page.opened],
            )
