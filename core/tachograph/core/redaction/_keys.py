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

_HEADERS = frozenset({"authorization", "proxyauthorization", "cookie", "setcookie", "xapikey", "xauthtoken", "apikey"})
_NO_LETTER = re.compile(r"[^a-z0-9]+")
_LAST_JOINED = tuple(words.replace(" ", "") for words in _LAST.split("|"))
_WHOLE_SET = frozenset(_WHOLE.split("|"))
_NAME_CHARACTERS_MAX = 200


def is_secret_key(key: str) -> bool:
    """Whether what stands under this name is a secret; case, `-`, `_` and spaces make no difference."""
    return _is_secret_key(key[-_NAME_CHARACTERS_MAX:])


@lru_cache(maxsize=4096)
def _is_secret_key(key: str) -> bool:
    joined = _joined(key)
    return joined in _WHOLE_SET or joined.endswith(_LAST_JOINED)


def is_secret_header(name: str) -> bool:
    """Whether a name is a header's that carries a secret; only these are looked for in lists of pairs."""
    return _joined(name[-_NAME_CHARACTERS_MAX:]) in _HEADERS


def _joined(key: str) -> str:
    return _NO_LETTER.sub("", key.lower())


def _spaced(words: str) -> str:
    return words.replace(" ", r"[_\- ]?")


IN_TEXT = rf"(?:{_spaced(_LAST)}|(?<![\w\-\[])(?:{_WHOLE}))"
"""The same names in running text, as a pattern."""


def reversed_names() -> bytes:
    """The names from their ends, lower case, as a pattern for reversed bytes."""
    names = {name[::-1].replace(" ", "[^a-z0-9]{0,2}") for name in f"{_LAST}|{_WHOLE}".split("|")}
    return "|".join(sorted(names)).encode()
