"""The local log: the spools of a directory, read while others write."""

from __future__ import annotations

import difflib
import heapq
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tachograph.core.errors import CorruptFrame, UnknownRun
from tachograph.core.ports import Stored
from tachograph.stores._address import address_of
from tachograph.stores._frame import HEADER_BYTES
from tachograph.stores._index import Range, RunIndex, ScanningIndex
from tachograph.stores._scan import Ending, FrameScan
from tachograph.stores._segments import Spool, SpoolState, list_spools, read_opening, read_segment, segment_size
from tachograph.stores._spool import segment_name
from tachograph.stores._window import Window


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
    """Reads every spool below a directory: closed, open, and left behind by a crash. Never writes there.

    A torn tail is cut at the last whole frame when it is read and listed by `torn_tails`. Readers and writers need not
    know of each other. Safe for several threads.

    Args:
        directory: where spools lie.
        index: tells where a run lies; by default the directory is scanned.
    """

    def __init__(self, directory: Path, index: RunIndex | None = None) -> None:
        self.path = directory
        self._index: RunIndex = ScanningIndex(directory) if index is None else index

    def spools(self) -> list[Spool]:
        """The spools, oldest first."""
        return list_spools(self.path)

    def run_ids(self) -> Sequence[str]:
        """The runs, oldest first."""
        return self._index.run_ids()

    def read_run(self, run_id: str) -> Iterator[Stored]:
        """A run's events in causal order: ascending by hybrid logical clock, every stream's in order of `seq`.

        Raises:
            UnknownRun: there is no such run.
            CorruptFrame: the bytes are not what was written.
        """
        ranges = self._index.ranges(run_id)
        if not ranges:
            raise UnknownRun(run_id, str(self.path), nearest(run_id, self._index.run_ids()))
        by_spool = [list(group) for _, group in itertools.groupby(ranges, key=lambda found: found.spool)]
        if len(by_spool) == 1:
            return self._read(ranges)
        return heapq.merge(*map(self._read, by_spool), key=lambda stored: address_of(stored.payload).hlc)

    def torn_tails(self) -> list[TornTail]:
        """What crashes left unfinished."""
        return [tail for spool in self.spools() if (tail := self._torn_tail(spool)) is not None]

    def _read(self, ranges: Sequence[Range]) -> Iterator[Stored]:
        for place, group in itertools.groupby(ranges, key=lambda found: (found.spool, found.number)):
            yield from self._read_segment(f"{place[0]}/{segment_name(place[1])}", list(group))

    def _read_segment(self, name: str, ranges: Sequence[Range]) -> Iterator[Stored]:
        path = self.path / name
        with Window(path, ranges[-1].end) as window:
            for found in ranges:
                scan = FrameScan(window.read(found.start, found.end), found.start, found.crc)
                for offset, payload in scan:
                    yield Stored(payload, name, offset)
                if scan.position != found.end:
                    raise CorruptFrame(
                        str(path), scan.position, scan.reason or "the segment does not go on as it should"
                    )

    def _torn_tail(self, spool: Spool) -> TornTail | None:
        if spool.state is not SpoolState.ABANDONED or not spool.numbers:
            return None
        number = spool.numbers[-1]
        name = f"{spool.name}/{segment_name(number)}"
        data = read_segment(self.path / name, 0, segment_size(self.path / name))
        opening = read_opening(self.path / name, spool.name, number)
        if opening is None:
            return TornTail(name, 0, len(data), "the segment's header is unfinished")
        scan = FrameScan(data, 0, opening.crc, HEADER_BYTES)
        for _ in scan:
            pass
        if scan.ending is not Ending.TORN:
            return None
        return TornTail(name, scan.position, len(data) - scan.position, scan.reason)


def nearest(run_id: str, known: Sequence[str]) -> tuple[str, ...]:
    """Runs that may have been meant."""
    return tuple(difflib.get_close_matches(run_id, known, n=3))
