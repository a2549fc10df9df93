"""The system calls of the stores: whole writes, durable directories, files that appear at once."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from tachograph.stores._sources import random_name


def write_all(descriptor: int, data: bytes | memoryview) -> None:
    """Write every byte; a short write is carried on until it is whole or the reason is raised.

    Raises:
        OSError: as the operating system gives it.
    """
    written = os.write(descriptor, data)
    while written < len(data):
        written += os.write(descriptor, memoryview(data)[written:])


def read_at(descriptor: int, offset: int, size: int) -> bytes:
    """`size` bytes from `offset`, fewer where the file ends."""
    parts: list[bytes] = []
    while size:
        part = os.pread(descriptor, size, offset)
        if not part:
            break
        parts.append(part)
        offset += len(part)
        size -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def sync_directory(path: Path) -> None:
    """Make the entries of a directory durable."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_file(path: Path) -> None:
    """Make the bytes of a file durable."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def temporary_beside(path: Path) -> Path:
    """A name in the same directory that nobody else uses and no reader looks at."""
    return path.with_name(f".{path.name}.{random_name()}")


def write_temporary(path: Path, data: bytes, *, mode: int = 0o644, durable: bool = True) -> Path:
    """Write a new file beside `path` and return its name; nothing is left behind on failure."""
    temporary = temporary_beside(path)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        write_all(descriptor, data)
        if durable:
            os.fsync(descriptor)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    finally:
        os.close(descriptor)
    return temporary


def create_once(path: Path, data: bytes, *, mode: int = 0o644) -> bool:
    """Let a whole, durable file appear under `path` unless one is there; whether it is ours.

    Raises:
        OSError: as the operating system gives it.
    """
    temporary = write_temporary(path, data, mode=mode)
    try:
        os.link(temporary, path)
    except FileExistsError:
        return False
    finally:
        temporary.unlink()
    sync_directory(path.parent)
    return True


def lock(descriptor: int) -> bool:
    """Take the lock of an open file for as long as it is open; whether it was free."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def is_locked(path: Path) -> bool:
    """Whether a living process holds the lock of a file; False where the file is missing."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def reason_of(error: OSError) -> str:
    """An operating system's error for a person."""
    return f"{error.strerror or error} (errno {error.errno})"
