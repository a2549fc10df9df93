"""What lies in a log's directory: spools, their segments, and whether a writer lives."""

from __future__ import annotations

import os
from collections.abc import Container
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from tachograph.core.errors import StoreUnavailable, UnsupportedSchema
from tachograph.stores._files import is_locked, read_at, reason_of
from tachograph.stores._frame import FORMAT_VERSION, HEADER_BYTES, spool_digest, stored_header_crc, unpack_header
from tachograph.stores._spool import LOCK_NAME


class SpoolState(StrEnum):
    """Whether a spool's writer lives."""

    OPEN = "OPEN"
    """A living process holds its lock."""
    CLOSED = "CLOSED"
    """It was closed as it should be."""
    ABANDONED = "ABANDONED"
    """Its process died."""


@dataclass(frozen=True, slots=True)
class Closing:
    """What a spool's lock file says after a clean close."""

    segments: int
    seal: bytes
    """Digest of the last seal."""


@dataclass(frozen=True, slots=True)
class Spool:
    """A spool as it lay there at one moment."""

    name: str
    path: Path
    state: SpoolState
    closing: Closing | None
    numbers: tuple[int, ...]
    """Numbers of the segments, ascending; a gap is damage."""


def list_spools(directory: Path, skip: Container[str] = ()) -> list[Spool]:
    """The spools of a log, oldest first, but for those to skip.

    Raises:
        StoreUnavailable: the directory cannot be read.
    """
    try:
        names = sorted(entry.name for entry in os.scandir(directory) if _is_spool(entry) and entry.name not in skip)
        return [spool for name in names if (spool := _still_there(directory, name)) is not None]
    except OSError as error:
        raise StoreUnavailable(str(directory), reason_of(error)) from error


def _still_there(directory: Path, name: str) -> Spool | None:
    """A spool; None where it was removed meanwhile, because the archive holds it."""
    try:
        return look_at(directory, name)
    except FileNotFoundError:
        return None


def look_at(directory: Path, name: str) -> Spool:
    """One spool. Its lock is looked at first: what is there when a lock is free will not grow."""
    path = directory / name
    alive = is_locked(path / LOCK_NAME)
    closing = read_closing(path)
    numbers = tuple(segment_numbers(path))
    dead = SpoolState.ABANDONED if closing is None else SpoolState.CLOSED
    return Spool(name, path, SpoolState.OPEN if alive else dead, closing, numbers)


def read_closing(spool: Path) -> Closing | None:
    """What the lock file says; None where the spool was not closed."""
    try:
        words = (spool / LOCK_NAME).read_bytes().split()
    except FileNotFoundError:
        return None
    try:
        return Closing(int(words[0]), bytes.fromhex(words[1].decode("ascii")))
    except (IndexError, ValueError):
        return None


class Opening(NamedTuple):
    """How a segment begins."""

    crc: int
    """What the first frame's checksum starts from."""
    trusted: bool
    """Whether the segment is the one that its place says, as far as the header tells."""


def read_opening(path: Path, spool: str, number: int) -> Opening | None:
    """The opening of a segment; None where its writer died before the header was whole.

    A damaged header does not hide the events behind it; one that belongs elsewhere makes them untrusted.

    Raises:
        UnsupportedSchema: it was written by a newer release.
    """
    data = read_segment(path, 0, HEADER_BYTES)
    if len(data) < HEADER_BYTES:
        return None
    header = unpack_header(data)
    if header is None:
        return Opening(stored_header_crc(data), trusted=True)
    if header.version > FORMAT_VERSION:
        raise UnsupportedSchema("segment", str(header.version))
    return Opening(header.crc, (header.spool, header.number) == (spool_digest(spool), number))


def read_segment(path: Path, offset: int, size: int) -> bytes:
    """Bytes of a segment.

    Raises:
        StoreUnavailable: the operating system refuses.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            return read_at(descriptor, offset, size)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise StoreUnavailable(str(path), reason_of(error)) from error


def segment_size(path: Path) -> int:
    """Bytes there at this moment.

    Raises:
        StoreUnavailable: the operating system refuses.
    """
    try:
        return path.stat().st_size
    except OSError as error:
        raise StoreUnavailable(str(path), reason_of(error)) from error


def _is_spool(entry: os.DirEntry[str]) -> bool:
    return not entry.name.startswith(".") and entry.is_dir(follow_symlinks=False)


def segment_numbers(path: Path) -> list[int]:
    """The numbers of a spool's segments, ascending.

    Raises:
        OSError: as the operating system gives it.
    """
    stems = (entry.name.removesuffix(".seg") for entry in os.scandir(path) if entry.name.endswith(".seg"))
    return sorted(int(stem) for stem in stems if stem.isdigit())
