"""How an object lies in its file: deflated where that makes it smaller, else as it is.

Bodies are text; deflated they take about a third, and what appears twice (an answer, and the same answer in the next
prompt) costs less than once. A checksum over the deflated bytes finds any flipped bit, unused bits of the last block too.
"""

from __future__ import annotations

import zlib

_MAGIC = b"\x01z"
"""No body and no group of chunk keys begins so."""

_HEAD = len(_MAGIC) + 4
_LEVEL = 1
"""Levels above save a few percent of text for several times the time."""

OBJECT_BYTES_MAX = 16 * 1024 * 1024
"""Unpacked; chunks have 64 KiB at most, groups of keys less than that."""


def packed(data: bytes) -> bytes:
    """What is written to the file."""
    deflated = zlib.compress(data, _LEVEL)
    if len(deflated) + _HEAD >= len(data):
        return data
    return _MAGIC + zlib.crc32(deflated).to_bytes(4, "big") + deflated


def unpacked(content: bytes) -> bytes:
    """The object of a file's content; of damaged content the content itself, which no key fits."""
    if not content.startswith(_MAGIC):
        return content
    deflated = content[_HEAD:]
    if zlib.crc32(deflated) != int.from_bytes(content[len(_MAGIC) : _HEAD], "big"):
        return content
    try:
        return zlib.decompressobj().decompress(deflated, OBJECT_BYTES_MAX)
    except zlib.error:
        return content
