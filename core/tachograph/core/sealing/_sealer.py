"""Sealing under one key. Pure: the cipher and the nonces come from outside."""

from __future__ import annotations

import hmac
from collections.abc import Callable
from typing import Protocol

from tachograph.core.errors import InvalidSetting, SealBroken
from tachograph.core.sealing._box import NONCE_BYTES, SealedBox

SEALING_KEY_BYTES = 32
"""Of AES-256, and of every key here."""

_LABEL = b"tachograph sealing 1 "


class Cipher(Protocol):
    """An authenticated cipher under one key."""

    def seal(self, nonce: bytes, data: bytes, associated: bytes) -> bytes:
        """Ciphertext, with the tag behind it."""
        ...

    def open(self, nonce: bytes, sealed: bytes, associated: bytes) -> bytes | None:
        """The data; None where anything is not as it was sealed."""
        ...


NewCipher = Callable[[bytes], Cipher]
"""Makes the cipher of a key."""


def derived(key: bytes, purpose: bytes) -> bytes:
    """A key for one purpose, 32 bytes: HKDF-Expand (RFC 5869) with HMAC-SHA-256, one block.

    The extraction is left out, as the RFC allows (3.3) where the key is 32 random bytes already.
    """
    return hmac.digest(key, _LABEL + purpose + b"\1", "sha256")


class Sealer:
    """Seals and opens under one key.

    Args:
        key: 32 random bytes.
        new_cipher: makes AES-256-GCM.
        random_bytes: gives unguessable bytes; for nonces.

    Raises:
        InvalidSetting: it is no key.
    """

    __slots__ = ("_cipher", "_commitment", "_random_bytes")

    def __init__(self, key: bytes, new_cipher: NewCipher, random_bytes: Callable[[int], bytes]) -> None:
        if len(key) != SEALING_KEY_BYTES:
            raise InvalidSetting("sealing key length", len(key), f"a key has {SEALING_KEY_BYTES} bytes")
        self._cipher = new_cipher(derived(key, b"encrypt"))
        self._commitment = derived(key, b"commit")
        self._random_bytes = random_bytes

    def seal(self, data: bytes, associated: bytes) -> bytes:
        """A box with some bytes in it, which opens only together with the same `associated`."""
        nonce = self._random_bytes(NONCE_BYTES)
        return SealedBox(self._commitment, nonce, self._cipher.seal(nonce, data, associated)).to_bytes()

    def open(self, data: bytes, associated: bytes) -> bytes:
        """What is in a box.

        Raises:
            SealBroken: it was sealed under another key, for something else, or is not what was sealed.
        """
        box = SealedBox.from_bytes(data)
        if not hmac.compare_digest(box.commitment, self._commitment):
            raise SealBroken("it was sealed under another key")
        opened = self._cipher.open(box.nonce, box.sealed, associated)
        if opened is None:
            raise SealBroken("it was changed, or belongs to something else")
        return opened

    def __repr__(self) -> str:
        return "Sealer(key=…)"
