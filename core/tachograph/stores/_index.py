"""Which run lies where, so that one run is read without reading its neighbours."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Protocol

from tachograph.stores._address import Address, Unaddressed, address_of
from tachograph.stores._forks import close_in_children
from tachograph.stores._frame import HEADER_BYTES
from tachograph.stores._scan import Ending, FrameScan
from tachograph.stores._segments import Spool, SpoolState, list_spools, read_opening, read_segment, segment_size
from tachograph.stores._spool import segment_name


class Range(NamedTuple):
    """Frames of one run that lie beside each other in a segment."""

    spool: str
    number: int
    """Of the segment."""
    start: int
    """Offset of the first frame."""
    end: int
    """Offset behind the last frame."""
    crc: int
    """Of the frame or header before `start`."""


class Mark(NamedTuple):
    """How far a segment has been read."""

    position: int
    crc: int
    sealed: bool


class RunIndex(Protocol):
    """Where runs lie, as of now."""

    def run_ids(self) -> Sequence[str]:
        """The runs, oldest first."""
        ...

    def ranges(self, run_id: str) -> Sequence[Range]:
        """Where a run lies, spool by spool and in the order of each; empty where it is not known."""
        ...


class Placed(NamedTuple):
    """A range, of whom it is and when its first event was."""

    run_id: str
    hlc: int
    range: Range


@dataclass(slots=True)
class Tail:
    """What was appended to a segment since a mark."""

    mark: Mark
    """The new one."""
    placed: list[Placed] = field(default_factory=list[Placed])
    """In the order of the segment."""
    events: list[tuple[Address, bytes]] = field(default_factory=list[tuple[Address, bytes]])
    """The events that were asked for."""


def read_tail(spool: Spool, number: int, mark: Mark | None, kinds: frozenset[bytes] = frozenset()) -> Tail | None:
    """Read what was appended since `mark`; None where that is nothing.

    Damaged frames stay within the range of the run they seem to belong to: whoever reads that run meets them, its
    neighbours are read as ever.

    Args:
        spool: as it lies there.
        number: of the segment.
        mark: how far it was read before; None: not at all.
        kinds: payload prefixes of the events to hand over.

    Raises:
        UnsupportedSchema: a newer release wrote the segment.
    """
    path = spool.path / segment_name(number)
    trusted = True
    if mark is None:
        opening = read_opening(path, spool.name, number)
        if opening is None:
            return None
        mark, trusted = Mark(HEADER_BYTES, opening.crc, sealed=False), opening.trusted
    size = segment_size(path)
    if mark.sealed or size <= mark.position:
        return None
    scan = FrameScan(read_segment(path, mark.position, size - mark.position), mark.position, mark.crc)
    grouping = _Grouping(spool.name, number, kinds)
    tail = grouping.group(scan)
    closed = spool.state is SpoolState.CLOSED or number != spool.numbers[-1]
    if not trusted or scan.ending is Ending.DAMAGED or (closed and scan.ending is not Ending.SEALED):
        grouping.spoil(scan.position, size)
    return tail if tail.mark != mark else None


class _Grouping:
    """Gathers frames that lie beside each other into ranges."""

    def __init__(self, spool: str, number: int, kinds: frozenset[bytes]) -> None:
        self._spool = spool
        self._number = number
        self._kinds = kinds
        self._tail = Tail(Mark(0, 0, sealed=False))
        self._run_id: str | None = None
        self._start = self._crc = self._hlc = 0

    def group(self, scan: FrameScan) -> Tail:
        crc = scan.crc
        damaged: bytes | None = b""
        while damaged is not None:
            for offset, payload in scan:
                self._add(payload, offset, crc)
                crc = scan.crc
            # A torn end is not searched for more: in a living spool it is a write under way.
            offset, damaged = scan.position, scan.skip() if scan.ending is Ending.DAMAGED else None
            if damaged is not None:
                self._add_damaged(damaged, offset, crc)
                crc = scan.crc
        self._turn(None, scan.end, 0, 0)
        self._tail.mark = Mark(scan.position, scan.crc, scan.ending is Ending.SEALED)
        return self._tail

    def spoil(self, start: int, size: int) -> None:
        """What lies, or should lie, behind cannot be told apart: it may belong to every run of the segment."""
        first = {placed.run_id: placed.hlc for placed in reversed(self._tail.placed)}
        behind = Range(self._spool, self._number, start, max(size, start + 1), self._tail.mark.crc)
        self._tail.placed.extend(Placed(run_id, hlc, behind) for run_id, hlc in first.items())

    def _add(self, payload: bytes, offset: int, crc: int) -> None:
        address = _address(payload)
        if address is None:
            self._turn(None, offset, crc, 0)
            return
        if address.run_id != self._run_id:
            self._turn(address.run_id, offset, crc, address.hlc)
        if payload[:5] in self._kinds:
            self._tail.events.append((address, payload))

    def _add_damaged(self, payload: bytes, offset: int, crc: int) -> None:
        address = _address(payload)
        known = {placed.run_id for placed in self._tail.placed}
        if address is not None and address.run_id in known and address.run_id != self._run_id:
            self._turn(address.run_id, offset, crc, address.hlc)

    def _turn(self, run_id: str | None, offset: int, crc: int, hlc: int) -> None:
        """The range at hand ends at an offset, that of another run begins."""
        if self._run_id is not None:
            found = Range(self._spool, self._number, self._start, offset, self._crc)
            self._tail.placed.append(Placed(self._run_id, self._hlc, found))
        self._run_id, self._start, self._crc, self._hlc = run_id, offset, crc, hlc


def _address(payload: bytes) -> Address | None:
    try:
        return address_of(payload)
    except Unaddressed:
        return None


class ScanningIndex:
    """An index in memory, kept up by scanning what was appended to a log's directory."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.abandon()
        close_in_children(self)

    def abandon(self) -> None:
        """Begin anew; a forked child does, its parent's lock may be held."""
        self._lock = threading.Lock()
        self._marks: dict[tuple[str, int], Mark] = {}
        self._ranges: dict[str, list[Range]] = {}
        self._first: dict[str, int] = {}

    def run_ids(self) -> Sequence[str]:
        """The runs, oldest first."""
        with self._lock:
            self._refresh()
            return sorted(self._first, key=lambda run_id: (self._first[run_id], run_id))

    def ranges(self, run_id: str) -> Sequence[Range]:
        """Where a run lies; empty where it is not known."""
        with self._lock:
            self._refresh()
            return sorted(self._ranges.get(run_id, ()))

    def _refresh(self) -> None:
        for spool in list_spools(self._directory):
            for number in spool.numbers:
                tail = read_tail(spool, number, self._marks.get((spool.name, number)))
                if tail is not None:
                    self._marks[spool.name, number] = tail.mark
                    for placed in tail.placed:
                        self._take(placed)

    def _take(self, placed: Placed) -> None:
        known = self._ranges.setdefault(placed.run_id, [])
        self._first[placed.run_id] = min(placed.hlc, self._first.get(placed.run_id, placed.hlc))
        last = known[-1] if known else None
        if last is not None and last[:2] == placed.range[:2] and last.end == placed.range.start:
            known[-1] = last._replace(end=placed.range.end)
        else:
            known.append(placed.range)
