"""Which objects a spool's events rely on, without decoding them: a file of keys beside the segments.

Every key that is put into a home's objects is noted for every spool that is open then, and written before the events
that follow. A spool's file so names at least the objects of its events, whoever put them; it may name more.
"""

from __future__ import annotations

import os
import threading
import weakref
from pathlib import Path
from typing import Final

from tachograph.stores._files import write_all

BODIES_NAME: Final = "bodies"
"""The file in a spool's directory: keys of 32 bytes, one behind the other."""

UNCLAIMED_MAX: Final = 100_000
"""Keys put while no spool is open, 10 MB of them; beyond that the next spool does without its file."""

_REMEMBERED_MAX: Final = 65_536
"""Keys that a spool's file is known to hold: below 10 MB; a key written twice costs nothing but its bytes."""


class Noted:
    """The keys that were put and are not yet in a spool's file."""

    __slots__ = ("__weakref__", "keys")

    def __init__(self, keys: list[bytes]) -> None:
        self.keys = keys

    def take(self) -> list[bytes]:
        """The keys, each once; they are the caller's from now on."""
        keys, self.keys = self.keys, []
        return list(dict.fromkeys(keys))


class Notes:
    """Where a home's objects say which keys were put."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._takers: tuple[weakref.ref[Noted], ...] = ()
        self._unclaimed: list[bytes] = []

    def note(self, key: bytes) -> None:
        """A key was put, or was there already."""
        takers = [taker for reference in self._takers if (taker := reference()) is not None]
        for taker in takers:
            taker.keys.append(key)
        if not takers and len(self._unclaimed) <= UNCLAIMED_MAX:
            self._unclaimed.append(key)

    def open(self) -> Noted | None:
        """Take note of keys from now on, and of those that nobody took; None: there were too many."""
        with self._lock:
            unclaimed, self._unclaimed = self._unclaimed, []
            if len(unclaimed) > UNCLAIMED_MAX:
                return None
            noted = Noted(unclaimed)
            living = [reference for reference in self._takers if reference() is not None]
            self._takers = (*living, weakref.ref(noted))
        return noted

    def forget(self) -> None:
        """In a forked child: the parent's spools are none of its own."""
        self._lock = threading.Lock()
        self._takers, self._unclaimed = (), []


class ReferredFile:
    """The file of one spool; written by its writer only.

    Args:
        directory: of the spool.
        noted: what is to be written.

    Raises:
        OSError: as the operating system gives it.
    """

    def __init__(self, directory: Path, noted: Noted) -> None:
        self._noted = noted
        self._known: set[bytes] = set()
        self._end = 0
        self._dirty = False
        self._descriptor = os.open(directory / BODIES_NAME, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o644)

    def write_out(self) -> None:
        """Hand what was noted to the operating system; on failure it stays noted.

        Raises:
            OSError: as the operating system gives it.
        """
        if not self._noted.keys:
            return
        keys = [key for key in self._noted.take() if key not in self._known]
        data = b"".join(keys)
        try:
            write_all(self._descriptor, data)
        except OSError:
            self._noted.keys[:0] = keys
            os.ftruncate(self._descriptor, self._end)
            raise
        self._end += len(data)
        self._dirty = self._dirty or bool(data)
        if len(self._known) >= _REMEMBERED_MAX:
            self._known.clear()
        self._known.update(keys)

    def sync(self) -> None:
        """Make it durable; costs nothing where nothing was written.

        Raises:
            OSError: as the operating system gives it.
        """
        if self._dirty:
            os.fdatasync(self._descriptor)
            self._dirty = False

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._descriptor)
