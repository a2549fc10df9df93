"""Reading a spool from a place on, while its writer lives or after it died."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from tachograph.core.errors import StoreUnavailable
from tachograph.stores._files import is_locked, reason_of
from tachograph.stores._frame import FRAME_HEAD_BYTES, HEADER_BYTES, PAYLOAD_BYTES_MAX
from tachograph.stores._scan import Ending, FrameScan
from tachograph.stores._segments import read_opening, read_segment, segment_numbers, segment_size
from tachograph.stores._spool import LOCK_NAME, segment_name

_ALIVE: Final[frozenset[Ending]] = frozenset()
"""Of a living writer: what looks so may be half written."""

_DEAD: Final = frozenset({Ending.DAMAGED})

_DEAD_AT_END: Final = frozenset({Ending.DAMAGED, Ending.TORN})
"""Where nothing follows, a frame that is longer than the file may have a damaged length, and others behind it."""

_FRAME_BYTES_MAX: Final = FRAME_HEAD_BYTES + PAYLOAD_BYTES_MAX


class Position(NamedTuple):
    """A place between two frames of a spool."""

    number: int
    """Of the segment."""
    offset: int
    """In it; 0: its header was not read yet."""
    crc: int
    """Of the frame before, from which the next one's checksum goes on."""


BEGINNING: Final = Position(1, 0, 0)


@dataclass(frozen=True, slots=True)
class Batch:
    """Events that follow each other in a spool."""

    payloads: list[bytes]
    end: Position
    """Behind them."""
    unreadable: tuple[str, ...]
    """What lies between them and cannot be read: sentences."""
    is_last: bool
    """Nothing more is there now."""
    is_over: bool
    """Nothing more will ever be: the writer is dead."""


class SpoolFollower:
    """Reads a spool's events in order. It never writes.

    Args:
        spool: the spool's directory.
    """

    def __init__(self, spool: Path) -> None:
        self.path = spool

    def read(self, position: Position, bytes_max: int) -> Batch:
        """The events behind a position, of one segment at most.

        Args:
            position: as an earlier batch ended, or BEGINNING.
            bytes_max: about so many bytes.

        Raises:
            StoreUnavailable: the operating system refuses.
            UnsupportedSchema: a newer release wrote the spool.
        """
        try:
            alive = is_locked(self.path / LOCK_NAME)  # first: what is there when the lock is free will not grow
            numbers = segment_numbers(self.path)
        except OSError as error:
            raise StoreUnavailable(str(self.path), reason_of(error)) from error
        later = [number for number in numbers if number > position.number]
        if position.number not in numbers:
            return self._missing(position, later, alive)
        return self._read(position, bytes_max, later, alive)

    def backlog(self, position: Position) -> int:
        """Bytes behind a position, heads of frames and seals included.

        Raises:
            StoreUnavailable: the operating system refuses.
        """
        try:
            numbers = [number for number in segment_numbers(self.path) if number >= position.number]
        except OSError as error:
            raise StoreUnavailable(str(self.path), reason_of(error)) from error
        sizes = sum(segment_size(self.path / segment_name(number)) for number in numbers)
        return max(0, sizes - position.offset)

    def _missing(self, position: Position, later: list[int], alive: bool) -> Batch:
        if not later:
            return Batch([], position, (), is_last=True, is_over=not alive)
        what = f"segment {position.number} is not there"
        return Batch([], Position(later[0], 0, 0), (what,), is_last=False, is_over=False)

    def _read(self, position: Position, bytes_max: int, later: list[int], alive: bool) -> Batch:
        path = self.path / segment_name(position.number)
        if not position.offset:
            opening = read_opening(path, self.path.name, position.number)
            if opening is None:
                return _ended(position, [], ["its header is unfinished"] if later else [], later, alive)
            if not opening.trusted:
                return _ended(position, [], ["it belongs to another spool"], later, alive)
            position = Position(position.number, HEADER_BYTES, opening.crc)
        data = read_segment(path, position.offset, bytes_max)
        if len(data) == bytes_max and _is_one_frame(data):
            data = read_segment(path, position.offset, _FRAME_BYTES_MAX)
        is_more = position.offset + len(data) < segment_size(path)
        scanned = _scan(position, data, damaged=_ALIVE if alive else _DEAD if is_more else _DEAD_AT_END)
        if scanned.is_sealed or scanned.is_lost or not (is_more and scanned.payloads):
            torn = [f"its end behind byte {scanned.end.offset} is missing"] if later and scanned.is_torn else []
            return _ended(scanned.end, scanned.payloads, scanned.unreadable + torn, later, alive)
        return Batch(
            scanned.payloads, scanned.end, _named(scanned.end, scanned.unreadable), is_last=False, is_over=False
        )


class _Scanned(NamedTuple):
    """What was made of some bytes."""

    payloads: list[bytes]
    end: Position
    unreadable: list[str]
    is_sealed: bool
    is_lost: bool
    """Nothing behind can be made out."""
    is_torn: bool


def _scan(start: Position, data: bytes, *, damaged: frozenset[Ending]) -> _Scanned:
    """Read whole frames, and pass over those that an ending of these kinds says to be damaged."""
    scan = FrameScan(data, start.offset, start.crc)
    payloads: list[bytes] = []
    unreadable: list[str] = []
    is_lost = False
    while True:
        payloads += scan.payloads()
        if scan.ending not in damaged or scan.seal is not None:
            break
        at, reason, is_torn = scan.position, scan.reason, scan.ending is Ending.TORN
        if scan.skip() is None:
            if is_torn:  # it is what it looks like: the writer died within a write
                break
            unreadable.append(f"nothing behind byte {at} can be made out: {reason}")
            is_lost = True
            break
        unreadable.append(f"the frame at byte {at} is damaged: {reason}")
    end = Position(start.number, scan.position, scan.crc)
    return _Scanned(payloads, end, unreadable, scan.seal is not None, is_lost, scan.ending is Ending.TORN)


def _ended(end: Position, payloads: list[bytes], unreadable: Sequence[str], later: Sequence[int], alive: bool) -> Batch:
    """A segment is read as far as it goes."""
    named = _named(end, unreadable)
    if later:
        return Batch(payloads, Position(later[0], 0, 0), named, is_last=False, is_over=False)
    return Batch(payloads, end, named, is_last=True, is_over=not alive)


def _named(end: Position, unreadable: Sequence[str]) -> tuple[str, ...]:
    return tuple(f"segment {end.number}: {sentence}" for sentence in unreadable)


def _is_one_frame(data: bytes) -> bool:
    """Whether the first frame goes beyond the bytes."""
    return FRAME_HEAD_BYTES + int.from_bytes(data[:4], "little") > len(data)
