"""The writer of one spool: the append-only log of one process life."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from crc32c import crc32c

from tachograph.core.errors import AgentMisuse, LimitExceeded, SpoolUnwritable, StoreUnavailable
from tachograph.stores._files import lock, reason_of, sync_directory, write_all
from tachograph.stores._forks import close_in_children
from tachograph.stores._frame import (
    FRAME,
    GENESIS_SEAL,
    PAYLOAD_BYTES_MAX,
    SEALED_BYTES,
    pack_header,
    pack_seal,
    unpack_header,
)
from tachograph.stores._referred import Noted, ReferredFile
from tachograph.stores._sources import spool_name
from tachograph.stores._spool_list import list_spool

SEGMENT_BYTES_MAX = 64 * 1024 * 1024
"""A segment is read into memory as a whole by verification: two of them, on two cores, stay below 200 MB."""

LOCK_NAME = "lock"


def segment_name(number: int) -> str:
    """`00000001.seg`, so that names sort as numbers."""
    return f"{number:08d}.seg"


@dataclass(frozen=True, slots=True)
class SpoolStatistics:
    """What a writer has done."""

    events: int
    bytes: int
    segments: int
    syncs: int


class SpoolWriter:
    """Appends payloads to a spool of its own; one writer, one thread.

    The spool appears under `log_directory` locked and with its first segment in place; the lock is held until the
    writer is closed or its process ends, which is how readers tell a crash from life. A forked child holds neither.

    Args:
        log_directory: where spools lie; it must exist.
        segment_bytes_max: a segment is closed before it would grow beyond this, unless one payload alone does.
        before_sync: called before every sync: makes durable what the events rely on (their bodies).
        referred: keys of the objects that the events rely on, as they are put; None: nobody notes them.

    Raises:
        SpoolUnwritable: the spool cannot be made.
    """

    def __init__(
        self,
        log_directory: Path,
        *,
        segment_bytes_max: int = SEGMENT_BYTES_MAX,
        before_sync: Callable[[], None] | None = None,
        referred: Noted | None = None,
    ) -> None:
        self.name = spool_name()
        self.path = log_directory / self.name
        self._segment_bytes_max = segment_bytes_max
        self._before_sync = before_sync
        self._referred = referred
        self._bodies: ReferredFile | None = None
        self._lock_descriptor = -1
        self._descriptor = -1
        self._number = self._crc = self._end = self._events = 0
        self._sealed = False
        self._digest = hashlib.sha256()
        self._previous_seal = GENESIS_SEAL
        self._broken: str | None = None
        self._closed = False
        self._dirty = False
        self._events_total = self._bytes_total = self._syncs = 0
        self._make(log_directory)
        close_in_children(self)

    def append(self, payloads: Sequence[bytes]) -> None:
        """Hand the payloads to the operating system with one write, in order.

        Raises:
            SpoolUnwritable: they could not be written; the log ends at the last whole frame before them.
            LimitExceeded: a payload is larger than a frame may be.
        """
        self._check()
        if not payloads:
            return
        frames, crc = _pack(payloads, self._crc)
        if self._is_full(len(frames)):
            self._rotate()
            frames, crc = _pack(payloads, self._crc)
        self._refer()
        self._write(frames)
        self._digest.update(b"".join([payload[:SEALED_BYTES] for payload in payloads]))
        self._crc = crc
        self._events += len(payloads)
        self._events_total += len(payloads)

    def sync(self) -> None:
        """Make everything appended durable; costs nothing where nothing was.

        Raises:
            SpoolUnwritable: it may not be durable; nothing more can be appended.
        """
        self._check()
        if self._dirty:
            self._sync_segment()

    def close(self) -> None:
        """Seal the log and let go of the lock; closing twice is as closing once."""
        if self._closed:
            return
        try:
            if self._broken is None:
                self._finish()
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Let go without sealing, as a crash would; what was appended stays readable."""
        self._closed = True
        for descriptor in (self._descriptor, self._lock_descriptor):
            if descriptor >= 0:
                os.close(descriptor)
        self._descriptor = self._lock_descriptor = -1
        if self._bodies is not None:
            self._bodies.close()
            self._bodies = None

    def statistics(self) -> SpoolStatistics:
        """What has been done so far."""
        return SpoolStatistics(self._events_total, self._bytes_total, self._number, self._syncs)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _make(self, log_directory: Path) -> None:
        hidden = log_directory / f".{self.name}"
        try:
            hidden.mkdir()
            self._lock_descriptor = os.open(hidden / LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644)
            lock(self._lock_descriptor)
            if self._referred is not None:
                self._bodies = ReferredFile(hidden, self._referred)
            self._open_segment(hidden)
            hidden.rename(self.path)
            list_spool(log_directory, self.name)
            sync_directory(log_directory)
        except OSError as error:
            self.abandon()
            raise SpoolUnwritable(str(self.path), reason_of(error)) from error

    def _open_segment(self, directory: Path) -> None:
        """Begin the next segment; on failure the writer stands where it stood."""
        path = directory / segment_name(self._number + 1)
        header = pack_header(self.name, self._number + 1, self._previous_seal)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        try:
            write_all(descriptor, header)
            os.fdatasync(descriptor)
            sync_directory(directory)
        except OSError:
            os.close(descriptor)
            path.unlink(missing_ok=True)
            raise
        self._begin(descriptor, header)

    def _begin(self, descriptor: int, header: bytes) -> None:
        parsed = unpack_header(header)
        assert parsed is not None
        self._descriptor, self._number, self._crc = descriptor, self._number + 1, parsed.crc
        self._end, self._events, self._sealed = len(header), 0, False
        self._digest = hashlib.sha256(header)

    def _is_full(self, size: int) -> bool:
        return self._sealed or (self._events > 0 and self._end + size > self._segment_bytes_max)

    def _rotate(self) -> None:
        """Seal this segment, then begin the next; either half may be tried again after the disk was full."""
        if not self._sealed:
            self._seal()
        sealed = self._descriptor
        try:
            self._open_segment(self.path)
        except OSError as error:
            raise SpoolUnwritable(str(self.path), reason_of(error)) from error
        os.close(sealed)

    def _seal(self) -> None:
        digest = self._digest.digest()
        frame, crc = _pack([pack_seal(self._events, digest)], self._crc)
        self._write(frame)
        self._crc, self._sealed, self._previous_seal = crc, True, digest
        self._sync_segment()

    def _refer(self) -> None:
        """Name the bodies before the events that hold them."""
        if self._bodies is None:
            return
        try:
            self._bodies.write_out()
        except OSError as error:
            raise SpoolUnwritable(str(self.path), reason_of(error)) from error

    def _write(self, frames: bytes) -> None:
        try:
            write_all(self._descriptor, frames)
        except OSError as error:
            self._cut_back()
            raise SpoolUnwritable(str(self.path), reason_of(error)) from error
        self._end += len(frames)
        self._bytes_total += len(frames)
        self._dirty = True

    def _cut_back(self) -> None:
        try:
            os.ftruncate(self._descriptor, self._end)
            os.lseek(self._descriptor, self._end, os.SEEK_SET)
        except OSError as error:
            self._broken = f"an unfinished write could not be taken back: {reason_of(error)}"

    def _sync_segment(self) -> None:
        try:
            if self._before_sync is not None:
                self._before_sync()
            if self._bodies is not None:
                self._bodies.sync()
            os.fdatasync(self._descriptor)
        except StoreUnavailable as error:
            self._broken = str(error)
            raise SpoolUnwritable(str(self.path), str(error)) from error
        except OSError as error:
            # The kernel may have dropped the pages and marked them clean: a second fdatasync would succeed and lie.
            self._broken = f"an earlier sync failed: {reason_of(error)}"
            raise SpoolUnwritable(str(self.path), reason_of(error)) from error
        self._syncs += 1
        self._dirty = False

    def _finish(self) -> None:
        if not self._sealed:
            self._seal()
        try:
            # Which seal is the last one: a spool whose end was cut off does not look like one that crashed.
            write_all(self._lock_descriptor, f"{self._number} {self._previous_seal.hex()}\n".encode())
            os.fsync(self._lock_descriptor)
        except OSError as error:
            raise SpoolUnwritable(str(self.path), reason_of(error)) from error

    def _check(self) -> None:
        if self._closed:
            raise AgentMisuse("spool", f"{self.path} is closed", "Open a new one.")
        if self._broken is not None:
            raise SpoolUnwritable(str(self.path), self._broken)


def _pack(payloads: Sequence[bytes], crc: int) -> tuple[bytes, int]:
    """The frames of a batch, and the crc of the last one."""
    parts: list[bytes] = []
    pack = FRAME.pack
    for payload in payloads:
        size = len(payload)
        if size > PAYLOAD_BYTES_MAX:
            raise LimitExceeded("the size of an event in bytes", size, PAYLOAD_BYTES_MAX)
        crc = crc32c(payload, crc)
        parts += (pack(size, crc), payload)
    return b"".join(parts), crc
