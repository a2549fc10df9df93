"""Tokens: what stands in the place of a value."""

from __future__ import annotations

import re
from typing import Literal, Protocol

Kind = Literal["secret", "email", "phone", "card"]

TOKEN = re.compile(r"\[(?:secret|email|phone|card):[0-9a-f]{12}\]")

_TOKEN_BYTES = 6


class Digests(Protocol):
    """Keyed digests, as a `Digester` makes them."""

    def digest(self, data: bytes) -> bytes:
        """32 bytes."""
        ...


class Minter:
    """Makes the tokens of one payload and counts them."""

    __slots__ = ("_digests", "count")

    def __init__(self, digests: Digests) -> None:
        self._digests = digests
        self.count = 0

    def token(self, kind: Kind, value: str) -> str:
        """The token of a value: same kind and value, same token, under the same key."""
        self.count += 1
        digest = self._digests.digest(f"redaction\0{kind}\0{value}".encode("utf-8", "surrogatepass"))
        return f"[{kind}:{digest[:_TOKEN_BYTES].hex()}]"
