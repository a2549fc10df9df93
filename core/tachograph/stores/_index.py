"""Which run lies where, so that one run is read without reading its neighbours."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from tachograph.stores._address import Address, Unaddressed, address_of


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


@dataclass(slots=True)
class Grouping:
    """Collects the ranges of a segment, frame by frame."""

    spool: str
    number: int
    ranges: list[tuple[str, Range]] = field(default_factory=list)
    """(run id, range) in the order of the segment."""
    _run_id: str | None = None
    _start: int = 0
    _crc: int = 0

    def add(self, payload: bytes, start: int, crc: int) -> Address | None:
        """Take in the next frame; its address, or None where it is not an event."""
        try:
            address = address_of(payload)
        except Unaddressed:
            self.close(start)
            return None
        if address.run_id != self._run_id:
            self.close(start)
            self._run_id, self._start, self._crc = address.run_id, start, crc
        return address

    def close(self, end: int) -> None:
        """The range at hand ends at an offset."""
        if self._run_id is not None:
            self.ranges.append((self._run_id, Range(self.spool, self.number, self._start, end, self._crc)))
            self._run_id = None


@dataclass(slots=True)
class LogIndex:
    """Ranges of every run, and how far each segment was read."""

    marks: dict[tuple[str, int], Mark] = field(default_factory=dict)
    ranges: dict[str, list[Range]] = field(default_factory=dict)
    """By run, in the order in which runs were first seen."""

    def add(self, run_id: str, new: Range) -> None:
        """Take in a range, joined to the one that it continues."""
        known = self.ranges.setdefault(run_id, [])
        if known and known[-1][:2] == new[:2] and known[-1].end == new.start:
            known[-1] = known[-1]._replace(end=new.end)
        else:
            known.append(new)
