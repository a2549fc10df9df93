"""Taking segments apart and putting them together again, as somebody would who wants to change the record."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

from crc32c import crc32c

from chains import small_fleet
from tachograph.stores import Finding, Home, SpoolWriter

HEADER_BYTES = 84
_HEAD = struct.Struct("<II")


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame of a segment."""

    offset: int
    payload: bytes


def frames_of(data: bytes) -> list[Frame]:
    """The frames of a segment that is whole, its seal among them."""
    frames: list[Frame] = []
    at = HEADER_BYTES
    while at < len(data):
        length, _ = _HEAD.unpack_from(data, at)
        frames.append(Frame(at, data[at + _HEAD.size : at + _HEAD.size + length]))
        at += _HEAD.size + length
    return frames


def joined(header: bytes, payloads: list[bytes]) -> bytes:
    """A segment of these payloads, with the checksums that belong to them."""
    (crc,) = struct.unpack_from("<I", header, HEADER_BYTES - 4)
    parts = [header[:HEADER_BYTES]]
    for payload in payloads:
        crc = crc32c(payload, crc)
        parts += [_HEAD.pack(len(payload), crc), payload]
    return b"".join(parts)


def recorded(directory: Path, *, closed: bool = True, segment_bytes_max: int = 1500) -> Home:
    """A home with one small run over several segments."""
    home = Home.open(directory, create=True)
    writer = SpoolWriter(home.path / "log", segment_bytes_max=segment_bytes_max)
    for payload in small_fleet(digester=home.digester):
        writer.append([payload])
    if closed:
        writer.close()
    else:
        writer.abandon()
    return home


def segments_of(home: Home) -> list[Path]:
    """The segments of a home, in order."""
    return sorted(home.path.glob("log/*/*.seg"))


def damage(findings: tuple[Finding, ...]) -> list[Finding]:
    """The findings that are no mere warnings."""
    return [finding for finding in findings if finding.severity == "damage"]


__all__ = ["HEADER_BYTES", "Frame", "damage", "frames_of", "joined", "recorded", "segments_of"]
