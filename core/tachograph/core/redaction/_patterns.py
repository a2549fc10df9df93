"""Shapes by which secrets and personal data are known in running text."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from tachograph.core.redaction._tokens import TOKEN, Kind

_END = r"(?![\w\-/:]|\.\d)"
"""Behind a phone number: not in the middle of a longer number, date, time or name."""

_NO_DATE = r"(?!\d{4}-\d\d-\d\d(?!\d))"
"""Before a number: it does not start with a date."""


Sign = Literal["address", "plus", "key block", "number", "name", "token"]
"""What a quick look tells of a text; a shape is looked for only where its sign was seen."""


def _always(_found: str) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Shape:
    """A shape; what its last matching group holds (or all of it) is replaced."""

    kind: Kind
    sign: Sign
    """No text without this sign holds the shape."""
    pattern: re.Pattern[str]
    confirms: Callable[[str], bool] = _always
    """Whether what was found is what it looks like."""


PREFIXES = (
    r"sk-|[srp]k_(?:live|test)_|whsec_|AKIA|ASIA|gh[pousr]_|github_pat_|glpat-|xox[abeoprs]-|xapp-|AIza|ya29\.|hf_"
    r"|npm_|pypi-|SG\.|eyJ"
)
"""How the keys of well-known providers, and JSON Web Tokens, start."""

_PROVIDER_KEY = re.compile(
    r"(?<![A-Za-z0-9_\-])(?:"
    r"sk-[A-Za-z0-9_\-]{16,}|[srp]k_(?:live|test)_[A-Za-z0-9]{10,}|whsec_[A-Za-z0-9+/]{16,}"
    r"|(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Z0-9])|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}"
    r"|glpat-[A-Za-z0-9_\-]{16,}|xox[abeoprs]-[A-Za-z0-9\-]{12,}|xapp-[A-Za-z0-9\-]{12,}"
    r"|AIza[A-Za-z0-9_\-]{30,}|ya29\.[A-Za-z0-9_\-]{16,}|hf_[A-Za-z0-9]{20,}|npm_[A-Za-z0-9]{30,}"
    r"|pypi-[A-Za-z0-9_\-]{40,}|SG\.[A-Za-z0-9_\-]{10,}\.[A-Za-z0-9_\-]{10,}"
    r"|eyJ[A-Za-z0-9_\-]{10,}\.[A-Za-z0-9_\-]{4,}(?:\.[A-Za-z0-9_\-]*){0,3})"
)
_PEM = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----.*?"
    r"(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\Z)",
    re.DOTALL,
)
_URL_PASSWORD = re.compile(r"://[^/\s:@\"'\\]{0,128}:([^/\s@\"'\\]{1,256})@")
_SCHEME = re.compile(r"(?i)(?<![A-Za-z0-9])(?:bearer|basic) {1,2}([A-Za-z0-9._~+/\-]{16,}={0,2})")
_EMAIL = re.compile(r"(?<![\w.+%\-])[\w.+%\-]{1,64}?(?:@|%40)(?:[\w\-]{1,63}\.){1,8}[^\W\d_]{2,24}(?![\w])")
_PHONE_INTERNATIONAL = re.compile(r"(?<![\w+])\+[1-9](?:[ .\-/]?\(?\d\)?){7,14}" + _END)
_PHONE_AMERICAN = re.compile(
    r"(?<![\w.\-/+$€£#])(?:1[ \-.])?(?:\(\d{3}\)[ \-.]?|\d{3}[\-.]|[2-9]\d{2} )\d{3}[ \-.]\d{4}" + _END
)
_PHONE_EUROPEAN = re.compile(
    r"(?<![\w.\-/+$€£#])\(?" + _NO_DATE + r"(?!\d{5}-\d{4}(?!\d))0\d{1,4}\)?(?:[ /\-.]\d{2,8}){1,6}" + _END
)
CARD_CANDIDATE = re.compile(
    r"(?<![\w.+])" + _NO_DATE + r"(?=(?:[ \-]?\d){13})\d{3,19}(?:[ \-]\d{3,19}){0,7}(?!\w|\.\d)"
)


def _looks_secret(found: str) -> bool:
    """Bearer of what? A word is no token; long, mixed or numbered text is."""
    if any(character.isdigit() for character in found) or len(found) >= 32:
        return True
    return _is_user_and_password(found)


def _is_user_and_password(found: str) -> bool:
    try:
        return b":" in base64.b64decode(found + "=" * (-len(found) % 4), validate=True)
    except (ValueError, binascii.Error):
        return False


def _is_international(found: str) -> bool:
    digits = sum(character.isdigit() for character in found)
    bare = digits + 1 == len(found)
    return 8 <= digits <= 15 and found.count(".") != 1 and (digits >= 10 or not bare)


def _is_european(found: str) -> bool:
    return 9 <= sum(character.isdigit() for character in found) <= 14


SHAPES: tuple[Shape, ...] = (
    Shape("secret", "key block", _PEM),
    Shape("secret", "address", _URL_PASSWORD, lambda found: TOKEN.fullmatch(found) is None),
    Shape("secret", "token", _PROVIDER_KEY),
    Shape("secret", "token", _SCHEME, _looks_secret),
    Shape("email", "address", _EMAIL),
    Shape("phone", "plus", _PHONE_INTERNATIONAL, _is_international),
    Shape("phone", "number", _PHONE_AMERICAN),
    Shape("phone", "number", _PHONE_EUROPEAN, _is_european),
)
"""In the order in which they are looked for."""
