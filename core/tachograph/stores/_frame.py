"""A segment's bytes: a header, then frames `length u32 | crc32c u32 | payload`, the last one a seal when it is closed.

Integers are little-endian. A frame's crc starts from the crc of the frame before it (the header's for the first), so
frames cannot change places unnoticed even before the segment is sealed. The seal is a frame whose payload is
`SEAL_MARK | events u64 | SHA-256 of the header and of the first 37 bytes of every payload`: those are an event's schema
and its hash, which binds all the rest of it, so that its bytes need not be hashed twice. The next segment's header
carries that digest, so segments form one chain.
"""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass

from crc32c import crc32c

from tachograph.schemas import CONTENT_OFFSET

FORMAT_VERSION = 1
MAGIC = b"TACHOLOG"
_HEADER = struct.Struct("<8sHHI32s32s")
_CRC = struct.Struct("<I")
HEADER_BYTES = _HEADER.size + _CRC.size

FRAME = struct.Struct("<II")
FRAME_HEAD_BYTES = FRAME.size

PAYLOAD_BYTES_MAX = 16 * 1024 * 1024
"""A payload holds bodies of at most 16 KiB; the rest of an event stays far below this, so that a length beyond it is
damage and never asks for memory."""

SEALED_BYTES = CONTENT_OFFSET
"""How much of a payload a seal is made over."""

SEAL_MARK = b"\x01SEAL"
_SEAL = struct.Struct("<5sQ32s")
SEAL_BYTES = _SEAL.size
SEAL_FRAME_BYTES = FRAME_HEAD_BYTES + SEAL_BYTES

GENESIS_SEAL = bytes(32)
"""What the first segment of a spool carries in place of a previous seal."""


@dataclass(frozen=True, slots=True)
class SegmentHeader:
    """What a segment says of itself."""

    version: int
    number: int
    """1-based place in its spool."""
    spool: bytes
    """SHA-256 of the spool's name: a segment moved to another spool is found."""
    previous_seal: bytes
    """Digest in the seal of the segment before, 32 bytes."""
    crc: int
    """Of the header; the first frame's crc starts from it."""


@dataclass(frozen=True, slots=True)
class Seal:
    """The end of a closed segment."""

    events: int
    digest: bytes
    """SHA-256 of the header and of the first SEALED_BYTES of every payload."""


def spool_digest(spool: str) -> bytes:
    """How a header names its spool."""
    return hashlib.sha256(spool.encode()).digest()


def pack_header(spool: str, number: int, previous_seal: bytes) -> bytes:
    """The first bytes of a segment."""
    head = _HEADER.pack(MAGIC, FORMAT_VERSION, 0, number, spool_digest(spool), previous_seal)
    return head + _CRC.pack(crc32c(head))


def unpack_header(data: bytes) -> SegmentHeader | None:
    """The header, or None where the bytes are not one."""
    if len(data) < HEADER_BYTES or data[:8] != MAGIC:
        return None
    _, version, _, number, spool, previous = _HEADER.unpack_from(data)
    (crc,) = _CRC.unpack_from(data, _HEADER.size)
    if crc != crc32c(data[: _HEADER.size]):
        return None
    return SegmentHeader(version, number, spool, previous, crc)


def stored_header_crc(data: bytes) -> int:
    """The checksum that stands in a header, whatever the rest of it is."""
    (crc,) = _CRC.unpack_from(data, _HEADER.size)
    return int(crc)


def pack_seal(events: int, digest: bytes) -> bytes:
    """The payload of a seal."""
    return _SEAL.pack(SEAL_MARK, events, digest)


def unpack_seal(payload: bytes) -> Seal:
    """The inverse of `pack_seal`."""
    _, events, digest = _SEAL.unpack(payload)
    return Seal(events, digest)


def is_seal(payload: bytes) -> bool:
    """Whether a frame is a seal; an event's first byte is 0."""
    return len(payload) == SEAL_BYTES and payload.startswith(SEAL_MARK)
