"""Where a long body is cut: at places that its content decides, so that an insertion moves only the cuts near it.

A candidate is the end of a member, an item, a line or a sentence. Between `CHUNK_BYTES_MIN` and `CHUNK_BYTES_MAX` behind
the previous cut the first candidate is taken whose surroundings say so (one in `_ODDS`); if none does, the last one.
"""

from __future__ import annotations

import re
from zlib import crc32

CHUNK_BYTES_MIN = 2 * 1024
CHUNK_BYTES_MAX = 16 * 1024
_ODDS = 8
_WINDOW_BYTES = 32
_CANDIDATE = re.compile(rb'[}\]"],|\\n|[.!?] ')


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
    last = 0
    for match in _CANDIDATE.finditer(data, start + CHUNK_BYTES_MIN, limit):
        last = match.end()
        if crc32(data[last - _WINDOW_BYTES : last]) % _ODDS == 0:
            return last
    return limit if limit == len(data) else last or limit
