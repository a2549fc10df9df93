"""A quick look at bytes: whether redaction can find anything in them at all.

Most payloads hold nothing to redact. Five searches at the speed of `memchr`, each on a character that is rare in prose,
tell so without parsing; what they let through is then looked at exactly. They may be wrong only in one direction.
"""

from __future__ import annotations

import re

from tachograph.core.redaction._keys import reversed_names
from tachograph.core.redaction._patterns import PREFIXES


def _folding() -> bytes:
    """Lower case, every digit `0`, `=` as `:`."""
    table = bytearray(range(256))
    for upper in b"ABCDEFGHIJKLMNOPQRSTUVWXYZ":
        table[upper] = upper + 32
    for digit in b"123456789":
        table[digit] = ord("0")
    table[ord("=")] = ord(":")
    return bytes(table)


def _wording() -> bytes:
    """`a` for whatever a key of a provider is made of, a space for the rest."""
    table = bytearray(b" " * 256)
    for part in b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-":
        table[part] = ord("a")
    return bytes(table)


_FOLDED = _folding()
_WORDED = _wording()
_RUN_BYTES = 14
_RUN = b"a" * _RUN_BYTES
_PREFIX = re.compile(PREFIXES.encode())
_EMAIL = re.compile(rb"@[\w\-\x80-\xff]+\.")
_PLUS = re.compile(rb"\+[1-9](?:[ .\-/]?\(?\d)")
_NAMED = re.compile(rb":(?:[ \\\"']|[nrtfbv]\\)*(?:" + reversed_names() + rb")")
_SCHEME = re.compile(rb" (?:reraeb|cisab|nekot)")
_NUMBERS = re.compile(
    rb"0(?<!00)(?!000-00-00[^0])(?:"
    rb"(?:[ -]?0){12}"  # a card
    rb"|00[-. )]{1,2}000[-. ]0000"  # American
    rb"|0{1,4}\)?(?:[ /.-]0{2,8}){1,6}(?<=0000)"  # European, its end in one piece
    rb"|0{1,4}\)?[ /.-]0{2,3}[ /.-]0{2,3}[ /.-]00)"  # European, in pairs
)


def is_suspicious(data: bytes) -> bool:
    """Whether bytes (JSON or text in UTF-8) may hold something to redact; never False for what redaction replaces."""
    if b"@" in data and _EMAIL.search(data) is not None:
        return True
    if b"+" in data and _PLUS.search(data) is not None:
        return True
    if b"%40" in data or _is_escaped(data):
        return True
    folded = data.translate(_FOLDED)
    if _NUMBERS.search(folded) is not None:
        return True
    backwards = folded[::-1]
    return _NAMED.search(backwards) is not None or _has_key(data) or _SCHEME.search(backwards) is not None


def _is_escaped(data: bytes) -> bool:
    """Whether text lies in it that only decoding shows."""
    if b"$" in data and (b'"$str"' in data or b'"$byte' in data):
        return True
    return b"\\" in data and b"\\u00" in data


def _has_key(data: bytes) -> bool:
    """Whether one of its long words starts, or goes on somewhere, as a provider's key does."""
    worded = data.translate(_WORDED)
    at = worded.find(_RUN)
    while at >= 0:
        start = worded.rfind(b" ", 0, at) + 1
        end = worded.find(b" ", at)
        end = len(data) if end < 0 else end
        if _PREFIX.search(data, max(start - 5, 0), end) is not None or b"-----" in data[start:end]:
            return True
        at = worded.find(_RUN, end)
    return False
