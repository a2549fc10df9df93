"""A quick look at bytes: whether redaction can find anything in them at all.

Most payloads hold nothing to redact. Five searches at the speed of `memchr`, each on a character that is rare in prose,
tell so without parsing; what they let through is then looked at exactly. They may be wrong only in one direction.
"""

from __future__ import annotations

import re

from tachograph.core.redaction._keys import names_backwards
from tachograph.core.redaction._patterns import PREFIXES, Sign


def _folding() -> bytes:
    """Lower case, every digit `0`, `=` as `:`, what ends a value as `,`."""
    table = bytearray(range(256))
    for upper in b"ABCDEFGHIJKLMNOPQRSTUVWXYZ":
        table[upper] = upper + 32
    for digit in b"123456789":
        table[digit] = ord("0")
    table[ord("=")] = ord(":")
    table[ord("]")] = table[ord("}")] = ord(",")
    return bytes(table)


def _wording() -> bytes:
    """`a` for whatever a token is made of, a space for the rest."""
    table = bytearray(b" " * 256)
    for part in b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._~+/-":
        table[part] = ord("a")
    return bytes(table)


_FOLDED = _folding()
_WORDED = _wording()
_RUN = b"a" * 16
_BEFORE_RUN_BYTES = 8
_TOKEN = re.compile(rf"(?i:bearer|basic) |{PREFIXES}".encode())
_EMAIL = re.compile(rb"@[\w\-\x80-\xff]+\.")
_URL_PASSWORD = re.compile(rb"://[^/@\"\\\s]{0,512}@")
_PLUS = re.compile(rb"\+[1-9](?:[ .\-/]?\(?\d\)?){7}")
_NAMED = re.compile(rb":[:\"'\\ ]{0,64}+" + names_backwards())
_LISTED = re.compile(rb",\"[:\"'\\ ]{0,64}+" + names_backwards())
_NUMBERS = re.compile(
    rb"0(?<!00)(?!000-00-00(?!0))(?=(?:[ /.)-]{0,2}0){8})(?:"
    rb"(?:[ -]?0){12}"  # a card
    rb"|00[-. )]{1,2}000[-. ]0000"  # an American phone
    rb"|0{1,4}\)?[ /.-]00)"  # a European one
)


def is_suspicious(data: bytes) -> bool:
    """Whether JSON in UTF-8 may hold something to redact; never False for what redaction replaces."""
    if _has_address(data) or _has_plus(data) or _has_key_block(data) or _is_veiled(data):
        return True
    folded = data.translate(_FOLDED)
    if _NUMBERS.search(folded) is not None:
        return True
    backwards = folded[::-1]
    return _NAMED.search(backwards) is not None or _LISTED.search(backwards) is not None or _has_token(data)


def signs_in(text: str) -> frozenset[Sign]:
    """What running text may hold; never without the sign of a shape that is in it."""
    data = text.encode("utf-8", "surrogatepass")
    folded = data.translate(_FOLDED)
    found: tuple[tuple[Sign, bool], ...] = (
        ("address", _has_address(data)),
        ("plus", _has_plus(data)),
        ("key block", _has_key_block(data)),
        ("number", _NUMBERS.search(folded) is not None),
        ("name", _NAMED.search(folded[::-1]) is not None),
        ("token", _has_token(data)),
    )
    return frozenset(sign for sign, is_there in found if is_there)


def ends_of_names(text: str) -> list[int]:
    """Where in a text the `:` or `=` behind a secret's name ends, in order."""
    backwards = text.encode("ascii", "replace").translate(_FOLDED)[::-1]
    return [len(text) - match.start() for match in _NAMED.finditer(backwards)][::-1]


def _has_address(data: bytes) -> bool:
    if b"@" in data and (_EMAIL.search(data) is not None or _URL_PASSWORD.search(data) is not None):
        return True
    return b"%" in data and b"%40" in data


def _has_plus(data: bytes) -> bool:
    return b"+" in data and _PLUS.search(data) is not None


def _has_key_block(data: bytes) -> bool:
    return b"-----BEGIN" in data


def _is_veiled(data: bytes) -> bool:
    """Whether something lies in it that only decoding shows: tagged text and bytes, escapes in JSON within JSON."""
    if b"$" in data and (b'"$str"' in data or b'"$byte' in data or b'"$dict"' in data or b'"$int"' in data):
        return True
    return b"\\" in data and b"\\\\u00" in data


def _has_token(data: bytes) -> bool:
    """Whether one of its long words holds the beginning of a provider's key, or `Bearer` stands before it."""
    worded = data.translate(_WORDED)
    at = worded.find(_RUN)
    while at >= 0:
        start = worded.rfind(b" ", 0, at) + 1
        end = worded.find(b" ", at)
        end = len(data) if end < 0 else end
        if _TOKEN.search(data, max(start - _BEFORE_RUN_BYTES, 0), end) is not None:
            return True
        at = worded.find(_RUN, end)
    return False
