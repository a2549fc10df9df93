"""Content-addressed objects in a directory: `ab/cdef…`, written to a temporary, read back, renamed."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Iterator
from pathlib import Path

from tachograph.core.errors import StoreUnavailable
from tachograph.stores._files import reason_of, sync_directory, sync_file, write_temporary
from tachograph.stores._forks import close_in_children
from tachograph.stores._packing import packed, unpacked
from tachograph.stores._referred import Notes

KEY_BYTES = 32
_REMEMBERED_MAX = 65_536
"""Keys known to be stored: 65,536 of 32 bytes stay below 10 MB."""


class DirectoryObjects:
    """An `ObjectStore` over a directory. Safe for several threads and processes.

    What is put is whole and visible at once; it is durable when `sync` has returned, or at once with `durable=True`.

    Args:
        directory: where the objects lie; it must exist.
        durable: make each object durable before `put` returns.
    """

    def __init__(self, directory: Path, *, durable: bool = False) -> None:
        self.path = directory
        self._durable = durable
        self._suspect: set[bytes] = set()
        self.notes = Notes()
        """Hears of every key that is put."""
        self._lock = threading.Lock()
        self._stored: set[bytes] = set()
        self._pending: dict[bytes, Path] = {}
        close_in_children(self)

    def put(self, key: bytes, data: bytes) -> None:
        """Store what may be there already.

        Raises:
            StoreUnavailable: it could not be stored; nothing is left under the key.
        """
        self.notes.note(key)
        if key in self._stored:
            return
        path = self.path_of(key)
        try:
            if key in self._suspect or _read(path) != data:
                _write(path, packed(data))
        except OSError as error:
            raise StoreUnavailable(str(path), reason_of(error)) from error
        with self._lock:
            # Found there already is not yet durable either: its writer may not have synced it.
            self._pending[key] = path
            if len(self._stored) >= _REMEMBERED_MAX:
                self._stored.clear()
            self._stored.add(key)
        if self._durable:
            self.sync()

    def get(self, key: bytes) -> bytes | None:
        """The object, or None.

        Raises:
            StoreUnavailable: it is there and cannot be read.
        """
        path = self.path_of(key)
        try:
            return _read(path)
        except OSError as error:
            raise StoreUnavailable(str(path), reason_of(error)) from error

    def keys(self) -> Iterator[bytes]:
        """Every key, sorted."""
        try:
            shards = sorted(entry.name for entry in os.scandir(self.path) if _is_hex(entry.name, 1))
            for shard in shards:
                names = sorted(entry.name for entry in os.scandir(self.path / shard))
                yield from (bytes.fromhex(shard + name) for name in names if _is_hex(name, KEY_BYTES - 1))
        except OSError as error:
            raise StoreUnavailable(str(self.path), reason_of(error)) from error

    def sync(self) -> None:
        """Make everything put durable; costs nothing where nothing was.

        Raises:
            StoreUnavailable: it may not be durable.
        """
        with self._lock:
            pending = self._pending
            self._pending = {}
        if not pending:
            return
        try:
            for path in pending.values():
                sync_file(path)
            for directory in {path.parent for path in pending.values()}:
                sync_directory(directory)
            sync_directory(self.path)
        except OSError as error:
            with self._lock:
                # After a failed sync the kernel may show bytes that the disk does not have: written anew at the next put.
                self._stored.difference_update(pending)
                self._suspect.update(pending)
            raise StoreUnavailable(str(self.path), reason_of(error)) from error

    def abandon(self) -> None:
        """Forget what was put; a forked child begins so, its parent's lock may be held."""
        self._lock = threading.Lock()
        self.notes.forget()
        self._stored = set()
        self._pending = {}

    def path_of(self, key: bytes) -> Path:
        """Where an object lies, or would.

        Raises:
            StoreUnavailable: it is no key.
        """
        if len(key) != KEY_BYTES:
            raise StoreUnavailable(str(self.path), f"a key has {KEY_BYTES} bytes, this one has {len(key)}: {key!r}")
        name = key.hex()
        return self.path / name[:2] / name[2:]


def _read(path: Path) -> bytes | None:
    try:
        return unpacked(path.read_bytes())
    except FileNotFoundError:
        return None


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(exist_ok=True)
    temporary = write_temporary(path, content, durable=False)
    try:
        _check(temporary, content)
        temporary.rename(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


def _check(path: Path, content: bytes) -> None:
    if path.read_bytes() != content:
        raise OSError(errno.EIO, "what was read back is not what was written")


def _is_hex(name: str, size: int) -> bool:
    return len(name) == 2 * size and not name.strip("0123456789abcdef")
