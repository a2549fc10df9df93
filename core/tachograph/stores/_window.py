"""Reading parts of a file that lie near each other with few system calls."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Self

from tachograph.core.errors import StoreUnavailable
from tachograph.stores._files import read_at, reason_of

WINDOW_BYTES = 256 * 1024
"""Read ahead: of 50 runs that take turns, each finds some hundred of its events in one window."""


class Window:
    """Reads ascending parts of a file through a window that moves along.

    Args:
        path: of the file.
        end: offset behind the last part; nothing is read beyond it.

    Raises:
        StoreUnavailable: the operating system refuses.
    """

    def __init__(self, path: Path, end: int) -> None:
        self._path = path
        self._end = end
        self._start = 0
        self._data = b""
        try:
            self._descriptor = os.open(path, os.O_RDONLY)
        except OSError as error:
            raise StoreUnavailable(str(path), reason_of(error)) from error

    def read(self, start: int, end: int) -> bytes:
        """Bytes of the file, fewer where it ends.

        Raises:
            StoreUnavailable: the operating system refuses.
        """
        if start < self._start or end > self._start + len(self._data):
            self._move(start, end)
        return self._data[start - self._start : end - self._start]

    def _move(self, start: int, end: int) -> None:
        size = max(end - start, min(WINDOW_BYTES, self._end - start))
        try:
            self._start, self._data = start, read_at(self._descriptor, start, size)
        except OSError as error:
            raise StoreUnavailable(str(self._path), reason_of(error)) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        os.close(self._descriptor)
