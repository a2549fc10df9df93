"""The local log: the spools of a directory, read while others write."""

from __future__ import annotations

import heapq
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tachograph.core.errors import CorruptFrame, UnknownRun
from tachograph.core.ports import Stored
from tachograph.stores._address import address_of
from tachograph.stores._frame import HEADER_BYTES
from tachograph.stores._index import Grouping, LogIndex, Mark, Range
from tachograph.stores._scan import Ending, FrameScan
from tachograph.stores._segments import Spool, SpoolState, list_spools, read_header, read_segment, segment_size
from tachograph.stores._spool import segment_name


@dataclass(frozen=True, slots=True)
class TornTail:
    """The unfinished end of a spool whose process died."""

    segment: str
    """The segment's path below the log's directory."""
    offset: int
    """Behind the last whole frame."""
    bytes: int
    """How many bytes are not read."""
    reason: str


class LocalLog:
    """Reads every spool below a directory: closed, open, and left behind by a crash. Never writes.

    A torn tail is cut at the last whole frame when it is read and listed by `torn_tails`. Readers and writers need not
    know of each other. Safe for several threads.
    """

    def __init__(self, directory: Path) -> None:
        self.path = directory
        self._index = LogIndex()
        self._lock = threading.Lock()

    def spools(self) -> list[Spool]:
        """The spools, oldest first."""
        return list_spools(self.path)

    def run_ids(self) -> Sequence[str]:
        """The runs, oldest first."""
        return list(self._refreshed().ranges)

    def read_run(self, run_id: str) -> Iterator[Stored]:
        """A run's events in causal order: ascending by hybrid logical clock, every stream's in order of `seq`.

        Raises:
            UnknownRun: there is no such run.
            CorruptFrame: the bytes are not what was written.
        """
        ranges = self._ranges(run_id)
        by_spool: dict[str, list[Range]] = {}
        for found in ranges:
            by_spool.setdefault(found.spool, []).append(found)
        if len(by_spool) == 1:
            return self._read(ranges)
        streams = [self._read(group) for group in by_spool.values()]
        return heapq.merge(*streams, key=lambda stored: address_of(stored.payload).hlc)

    def torn_tails(self) -> list[TornTail]:
        """What crashes left unfinished."""
        return [tail for spool in self.spools() if (tail := self._torn_tail(spool)) is not None]

    def _ranges(self, run_id: str) -> list[Range]:
        known = self._refreshed().ranges
        if run_id not in known:
            raise UnknownRun(run_id, str(self.path), _nearest(run_id, known))
        with self._lock:
            return list(known[run_id])

    def _read(self, ranges: Sequence[Range]) -> Iterator[Stored]:
        for found in ranges:
            name = f"{found.spool}/{segment_name(found.number)}"
            data = read_segment(self.path / name, found.start, found.end - found.start)
            scan = FrameScan(data, found.start, found.crc)
            for offset, payload in scan:
                yield Stored(payload, name, offset)
            if scan.position != found.end:
                raise CorruptFrame(str(self.path / name), scan.position, scan.reason or "bytes are missing")

    def _refreshed(self) -> LogIndex:
        with self._lock:
            for spool in self.spools():
                for number in spool.numbers:
                    self._refresh_segment(spool, number)
            return self._index

    def _refresh_segment(self, spool: Spool, number: int) -> None:
        path = spool.path / segment_name(number)
        mark = self._index.marks.get((spool.name, number))
        if mark is None:
            header = read_header(path, spool.name, number)
            if header is None:
                return
            mark = Mark(HEADER_BYTES, header.crc, sealed=False)
        size = segment_size(path)
        if not mark.sealed and size > mark.position:
            data = read_segment(path, mark.position, size - mark.position)
            mark = self._take_in(spool, number, FrameScan(data, mark.position, mark.crc))
        self._index.marks[spool.name, number] = mark

    def _take_in(self, spool: Spool, number: int, scan: FrameScan) -> Mark:
        grouping = Grouping(spool.name, number)
        crc = scan.crc
        for offset, payload in scan:
            grouping.add(payload, offset, crc)
            crc = scan.crc
        grouping.close(scan.position if scan.seal is None else scan.seal_offset)
        for run_id, found in grouping.ranges:
            self._index.add(run_id, found)
        if scan.ending is Ending.DAMAGED:
            raise CorruptFrame(str(spool.path / segment_name(number)), scan.position, scan.reason)
        return Mark(scan.position, scan.crc, scan.ending is Ending.SEALED)

    def _torn_tail(self, spool: Spool) -> TornTail | None:
        if spool.state is not SpoolState.ABANDONED or not spool.numbers:
            return None
        number = spool.numbers[-1]
        name = f"{spool.name}/{segment_name(number)}"
        data = read_segment(self.path / name, 0, segment_size(self.path / name))
        header = read_header(self.path / name, spool.name, number)
        if header is None:
            return TornTail(name, 0, len(data), "the segment's header is unfinished")
        scan = FrameScan(data[HEADER_BYTES:], HEADER_BYTES, header.crc)
        for _ in scan:
            pass
        if scan.ending is not Ending.TORN:
            return None
        return TornTail(name, scan.position, len(data) - scan.position, scan.reason)


def _nearest(run_id: str, known: dict[str, list[Range]]) -> tuple[str, ...]:
    import difflib

    return tuple(difflib.get_close_matches(run_id, list(known), n=3))
