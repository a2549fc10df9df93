"""Where a long body is cut: at places that its content decides, so that an insertion moves only the cuts near it.

The best place is behind an object of a list, before what follows it: a conversation grows there, so a chunk that ends
there is the same before and after. An object that is long cuts always, a short one when the bytes before it say so (one in
`_ODDS`), otherwise lists of short objects would be cut out of step after an insertion. Within long strings and
between numbers punctuation and escapes cut by the same rule.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from zlib import crc32

CHUNK_BYTES_MIN = 1024
CHUNK_BYTES_MAX = 16 * 1024
_TEXT_BYTES_MIN = 2 * 1024
_LONG_BYTES = 512
_ODDS = 8
_WINDOW_BYTES = 32
_OBJECT_END = re.compile(rb"\}(?=[,\]])")
_TEXT_END = re.compile(rb"[.,!?\\]")


def cut(data: bytes) -> list[bytes]:
    """Bytes cut into chunks that make them up in order."""
    chunks: list[bytes] = []
    start = 0
    while len(data) - start > CHUNK_BYTES_MIN:
        end = _end(data, start)
        chunks.append(data[start:end])
        start = end
    if start < len(data):
        chunks.append(data[start:])
    return chunks


def _end(data: bytes, start: int) -> int:
    limit = min(start + CHUNK_BYTES_MAX, len(data))
    for match in _OBJECT_END.finditer(data, start + CHUNK_BYTES_MIN, limit):
        end = match.end()
        if data.rfind(b"}", end - _LONG_BYTES, end - 1) < 0 or _chosen(data, end):
            return end
    if limit == len(data) and limit - start <= _TEXT_BYTES_MIN:
        return limit
    ends = (match.end() for match in _TEXT_END.finditer(data, start + _TEXT_BYTES_MIN, limit))
    return _first_chosen(data, ends, limit)


def _first_chosen(data: bytes, ends: Iterable[int], limit: int) -> int:
    """The first of some places that is chosen; failing that the last one, unless the data end at the limit."""
    last = 0
    for end in ends:
        if _chosen(data, end):
            return end
        last = end
    return limit if limit == len(data) else last or limit


def _chosen(data: bytes, end: int) -> bool:
    return crc32(data[end - _WINDOW_BYTES : end]) % _ODDS == 0
