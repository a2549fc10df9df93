"""Files of sealed raw bodies: one for each run and process life, written from front to back.

`TACHORAW` and a version, then frames: `length | name | box`. A frame that a dying process left unfinished is the last one,
and belongs to an event that was not written either.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from tachograph.stores._files import read_at, write_all

SUFFIX = ".pack"
NAME_BYTES = 32
_MAGIC = b"TACHORAW\1"
_FRAME = struct.Struct(f">I{NAME_BYTES}s")
_MODE = 0o600


class PackPlace(NamedTuple):
    """Where a box lies."""

    path: Path
    offset: int
    size: int

    def read(self) -> bytes:
        """The box.

        Raises:
            OSError: as the operating system gives it.
        """
        descriptor = os.open(self.path, os.O_RDONLY)
        try:
            return read_at(descriptor, self.offset, self.size)
        finally:
            os.close(descriptor)


def frame(name: bytes, box: bytes) -> bytes:
    """A box as it lies in a pack."""
    return _FRAME.pack(len(box), name) + box


def append(path: Path, frames: Sequence[bytes]) -> None:
    """Hand frames to the operating system; what does not fit on the disk is taken back.

    Raises:
        OSError: as the operating system gives it.
    """
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, _MODE)
    try:
        size = os.fstat(descriptor).st_size
        try:
            write_all(descriptor, b"".join(frames) if size else b"".join((_MAGIC, *frames)))
        except OSError:
            os.ftruncate(descriptor, size)
            raise
    finally:
        os.close(descriptor)


def places(path: Path) -> Iterator[tuple[bytes, PackPlace]]:
    """Name and place of every whole box in a pack; none where the file is no pack.

    Raises:
        OSError: as the operating system gives it.
    """
    with path.open("rb") as file:
        end = os.fstat(file.fileno()).st_size
        if file.read(len(_MAGIC)) != _MAGIC:
            return
        offset = len(_MAGIC)
        while len(head := file.read(_FRAME.size)) == _FRAME.size:
            size, name = _FRAME.unpack(head)
            offset += _FRAME.size
            if offset + size > end:
                return
            yield name, PackPlace(path, offset, size)
            offset += size
            file.seek(size, os.SEEK_CUR)
