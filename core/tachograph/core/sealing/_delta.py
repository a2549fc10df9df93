"""A raw body as its redacted form and what was taken out of it.

A long conversation with one address near its beginning is redacted in every call that carries it. The redacted bodies
share their chunks; whole raw ones could not, and would grow quadratically. What was taken out is a few bytes each time.

Layout: `length | form | content | padding`. Form 0 holds the raw body, form 1 patches: for each `gap | covered | length |
bytes`, where `gap` counts the redacted bytes that are kept since the patch before, and `covered` those that the bytes stand for.
Everything is padded to a multiple of 64 bytes, since a token hides how long its value is.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from itertools import pairwise

from tachograph.core.errors import SealBroken

PADDED_TO = 64

_TOKEN = re.compile(rb"\[[a-z]+:[0-9a-f]{12}\]")
_QUOTE = b'"'

_HEAD = struct.Struct(">IB")
_PATCH = struct.Struct(">III")
_WHOLE, _PATCHES = 0, 1


def taken_out(raw: bytes, redacted: bytes) -> bytes:
    """What `put_back` needs to make the raw body from the redacted one."""
    patches = _patches(raw, redacted)
    if patches is None or len(patches) >= len(raw):
        return _padded(_WHOLE, raw)
    return _padded(_PATCHES, patches)


def put_back(redacted: bytes, taken: bytes) -> bytes:
    """The raw body.

    Raises:
        SealBroken: the two do not fit each other.
    """
    try:
        length, form = _HEAD.unpack_from(taken)
        content = taken[_HEAD.size : _HEAD.size + length]
        if len(content) != length or form not in (_WHOLE, _PATCHES):
            raise SealBroken("its content is not laid out as this release knows it")
        return content if form == _WHOLE else b"".join(_patched(redacted, content))
    except struct.error:
        raise SealBroken("its content is cut short") from None


def _padded(form: int, content: bytes) -> bytes:
    data = _HEAD.pack(len(content), form) + content
    return data + bytes(-len(data) % PADDED_TO)


def _patches(raw: bytes, redacted: bytes) -> bytes | None:
    """The raw bytes that stand where the redacted body has tokens; None where the rest differs, too.

    What is kept is looked for from left to right. That finds a way wherever there is one, as with `*` in a file name; and
    any way will do, since it gives the raw body back.
    """
    spans = [_with_quotes(redacted, *found.span()) for found in _TOKEN.finditer(redacted)]
    if not spans or not raw.startswith(redacted[: spans[0][0]]) or any(a[1] > b[0] for a, b in pairwise(spans)):
        return None
    parts: list[bytes] = []
    at, before = spans[0][0], 0
    for number, (start, end) in enumerate(spans):
        last = number == len(spans) - 1
        kept = redacted[end:] if last else redacted[end : spans[number + 1][0]]
        found = len(raw) - len(kept) if last else raw.find(kept, at)
        if found < at or (last and not raw.endswith(kept)):
            return None
        parts += (_PATCH.pack(start - before, end - start, found - at), raw[at:found])
        at, before = found + len(kept), end
    return b"".join(parts)


def _with_quotes(redacted: bytes, start: int, end: int) -> tuple[int, int]:
    """Where something may have been taken out: a number is replaced by a text, quotes and all."""
    quoted = redacted[start - 1 : start] == _QUOTE and redacted[end : end + 1] == _QUOTE
    return (start - 1, end + 1) if quoted else (start, end)


def _patched(redacted: bytes, patches: bytes) -> Iterator[bytes]:
    kept = offset = 0
    while offset < len(patches):
        gap, covered, length = _PATCH.unpack_from(patches, offset)
        offset += _PATCH.size
        if kept + gap + covered > len(redacted) or offset + length > len(patches):
            raise SealBroken("it was taken out of another body")
        yield redacted[kept : kept + gap]
        yield patches[offset : offset + length]
        kept += gap + covered
        offset += length
    yield redacted[kept:]
