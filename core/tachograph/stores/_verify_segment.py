"""Checking one segment's bytes: header, frames, seal."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import NamedTuple

from crc32c import crc32c

from tachograph.stores._findings import Finding, FindingKind, Severity
from tachograph.stores._frame import (
    FORMAT_VERSION,
    HEADER_BYTES,
    SEAL_BYTES,
    SEALED_BYTES,
    SegmentHeader,
    spool_digest,
    stored_header_crc,
    unpack_header,
)
from tachograph.stores._scan import Ending, FrameScan


class Frame(NamedTuple):
    """A frame as it lies there."""

    offset: int
    payload: bytes
    damage: str | None
    """What is wrong with it; that may be the frame before it, too: a checksum continues the one before."""


class SegmentCheck:
    """Iterates over the frames of a segment; then `findings` tells what is wrong with its bytes.

    Args:
        path: of the segment below the home's directory, for findings.
        spool: its spool's name.
        number: its number.
        data: its bytes.
        may_end_early: whether it may end without a seal, even within a frame: its writer lives or died.
    """

    def __init__(self, path: str, spool: str, number: int, data: bytes, *, may_end_early: bool) -> None:
        self.path = path
        self.findings: list[Finding] = []
        self.seal_broken = False
        """Whether the seal does not fit the segment's bytes."""
        self.seal: bytes | None = None
        """The digest that the next segment must carry."""
        self.previous_seal: bytes | None = None
        """The digest of the segment before, as this one carries it."""
        self.torn: Finding | None = None
        self._spool = spool
        self._number = number
        self._data = data
        self._may_end_early = may_end_early
        self._sealed: list[bytes] = []

    def __iter__(self) -> Iterator[Frame]:
        if len(self._data) < HEADER_BYTES:
            self._end_of_header()
            return
        scan = FrameScan(self._data, 0, self._check_header(), HEADER_BYTES)
        while True:
            for offset, payload in scan:
                self._sealed.append(payload[:SEALED_BYTES])
                yield Frame(offset, payload, None)
            offset, reason = scan.position, scan.reason
            damaged = scan.skip()
            if damaged is None:
                break
            if scan.skipped_length is not None:
                reason = f"its length was changed to {scan.skipped_length}"
            if len(damaged) == SEAL_BYTES:
                self.seal_broken = True
                self._find(FindingKind.SEAL, offset, f"the segment's seal was changed: {reason}")
            else:
                self._sealed.append(damaged[:SEALED_BYTES])
                yield Frame(offset, damaged, reason)
        self._check_end(scan)

    def _check_header(self) -> int:
        header = unpack_header(self._data)
        if header is None:
            self._find(FindingKind.HEADER, 0, "the segment's header is not what was written")
            return self._likely_crc()
        self._check_identity(header)
        self.previous_seal = header.previous_seal
        return header.crc

    def _check_identity(self, header: SegmentHeader) -> None:
        if header.version > FORMAT_VERSION:
            self._find(
                FindingKind.HEADER, 0, f"the segment has format version {header.version}, which a newer release reads"
            )
        if header.spool != spool_digest(self._spool):
            self._find(FindingKind.HEADER, 0, "the segment belongs to another spool")
        elif header.number != self._number:
            self._find(
                FindingKind.HEADER,
                0,
                f"the segment is number {header.number} of its spool and lies here as number {self._number}",
            )

    def _likely_crc(self) -> int:
        """What the first frame's checksum starts from although the header is damaged."""
        stored, computed = stored_header_crc(self._data), crc32c(self._data[: HEADER_BYTES - 4])
        for crc in (stored, computed):
            for _ in FrameScan(self._data, 0, crc, HEADER_BYTES):
                return crc
        return stored

    def _end_of_header(self) -> None:
        if self._may_end_early:
            self._tear(0, len(self._data), "the process died before it had written the segment's header")
        else:
            self._find(FindingKind.HEADER, 0, "the segment ends within its header")

    def _check_end(self, scan: FrameScan) -> None:
        if scan.seal is not None:
            self._check_seal(scan)
        if scan.ending is Ending.DAMAGED:
            self._find(FindingKind.FRAME if scan.seal is None else FindingKind.SEAL, scan.position, scan.reason)
        elif scan.ending is Ending.TORN:
            self._check_tail(scan)
        elif scan.ending is Ending.WHOLE and not self._may_end_early:
            self._miss_seal(scan)

    def _check_seal(self, scan: FrameScan) -> None:
        assert scan.seal is not None
        self.seal = scan.seal.digest
        events = len(self._sealed)
        if hashlib.sha256(b"".join([self._data[:HEADER_BYTES], *self._sealed])).digest() == scan.seal.digest:
            return
        self.seal_broken = True
        counted = "" if scan.seal.events == events else f": {scan.seal.events} events were sealed, {events} lie there"
        self._find(FindingKind.SEAL, scan.seal_offset, f"the segment's events are not those that were sealed{counted}")

    def _check_tail(self, scan: FrameScan) -> None:
        if self._may_end_early:
            self._tear(scan.position, len(self._data) - scan.position, scan.reason)
        else:
            self._find(FindingKind.FRAME, scan.position, scan.reason)
            self._miss_seal(scan)

    def _miss_seal(self, scan: FrameScan) -> None:
        if self.seal_broken:
            return
        self.seal_broken = True
        self._find(
            FindingKind.SEAL,
            scan.position,
            "the segment was closed, but its seal is not there: its end was cut off or changed",
        )

    def _tear(self, offset: int, size: int, reason: str) -> None:
        sentence = (
            f"{reason}: a process died while it wrote. {size} bytes are not read; everything before them is whole."
        )
        self.torn = Finding(FindingKind.TORN, "warning", self.path, offset, None, sentence)

    def _find(self, kind: FindingKind, offset: int, what: str, severity: Severity = "damage") -> None:
        self.findings.append(Finding(kind, severity, self.path, offset, None, f"{what}."))
