"""Names under which secrets stand."""

from __future__ import annotations

import re
from functools import lru_cache

_LAST = (
    "password|passwd|passphrase|secret|credential|credentials|cookie|cookies|authorization"
    "|api key|private key|secret key|access key|access key id|signing key|encryption key|auth key"
    "|access token|refresh token|auth token|bearer token|session token|id token|api token|csrf token|xsrf token"
    "|bot token|device token|security token|personal token|service token|client token|reset token"
    "|github token|gitlab token|slack token|hf token|private token|deploy token"
)
"""A name that ends in one of these is one: `openai_api_key`, `dbPassword`, `Set-Cookie`."""

_WHOLE = "token|session|auth|pwd|cvv|cvc"
"""A name that is one of these; `max_token`, `page_token` and `author` are not."""

_HEADER = "authorization|proxy authorization|cookie|set cookie|x api key|x auth token|api key"
_NAME_CHARACTERS_MAX = 200
_BEHIND = r"[ :\"'\\]{0,4}"


def _spaced(words: str) -> str:
    return words.replace(" ", r"[_\-. ]?")


IN_TEXT = rf"(?:{_spaced(_LAST)}|(?<![\w\[])(?<!\w-)(?:{_WHOLE}))"
"""The same names in running text, as a pattern; case makes no difference."""

_KEY = re.compile(rf"(?ai)(?:.*(?:{_spaced(_LAST)})|(?:{_WHOLE})){_BEHIND}", re.DOTALL)
_HEADER_NAME = re.compile(rf"(?ai)(?:{_spaced(_HEADER)}){_BEHIND}")


@lru_cache(maxsize=4096)
def _is_secret_key(key: str) -> bool:
    return _KEY.fullmatch(key) is not None


def is_secret_key(key: str) -> bool:
    """Whether what stands under this name is a secret; case and what divides words make no difference."""
    return _is_secret_key(key[-_NAME_CHARACTERS_MAX:])


def is_secret_header(name: str) -> bool:
    """Whether a name is a header's that carries a secret; only these are looked for in lists of pairs."""
    return len(name) <= _NAME_CHARACTERS_MAX and _HEADER_NAME.fullmatch(name) is not None


def names_backwards() -> bytes:
    """The names from their ends, lower case, as a pattern for reversed bytes that looks at few letters."""
    names = [name[::-1] for name in f"{_LAST}|{_WHOLE}".split("|")]
    return _branches(names).replace(" ", r"[_\-. ]?").encode()


def _branches(names: list[str]) -> str:
    """An alternative of names, by first letters: `n(?:ekot|oisses)`."""
    firsts = sorted({name[0] for name in names if name})
    parts = [first + _branches([name[1:] for name in names if name[:1] == first]) for first in firsts]
    if "" in names or not parts:
        return ""
    return parts[0] if len(parts) == 1 else f"(?:{'|'.join(parts)})"
