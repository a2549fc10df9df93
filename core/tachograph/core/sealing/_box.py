"""The layout of a sealed box: `version | key commitment | nonce | ciphertext and tag`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from tachograph.core.errors import SealBroken

VERSION = 1
COMMITMENT_BYTES = 32
NONCE_BYTES = 12
"""Of AES-GCM (NIST SP 800-38D); random ones under one key are safe for 2^32 boxes."""
TAG_BYTES = 16

_HEADER_BYTES = 1 + COMMITMENT_BYTES + NONCE_BYTES

BOX_BYTES_MIN = _HEADER_BYTES + TAG_BYTES
"""A box with nothing in it."""


@dataclass(frozen=True, slots=True)
class SealedBox:
    """Sealed bytes, as they are stored."""

    commitment: bytes
    """Names the key: no other one can open the box. AES-GCM alone does not see to that."""
    nonce: bytes
    sealed: bytes
    """Ciphertext, with the tag behind it."""

    def to_bytes(self) -> bytes:
        """The box as it is stored."""
        return b"".join((bytes((VERSION,)), self.commitment, self.nonce, self.sealed))

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The box that was stored.

        Raises:
            SealBroken: it is cut short, or a newer release made it.
        """
        if len(data) < BOX_BYTES_MIN:
            raise SealBroken(f"it has {len(data)} bytes, the shortest box has {BOX_BYTES_MIN}")
        if data[0] != VERSION:
            raise SealBroken(f"it is of version {data[0]}, this release reads {VERSION}")
        nonce_at = 1 + COMMITMENT_BYTES
        return cls(data[1:nonce_at], data[nonce_at:_HEADER_BYTES], data[_HEADER_BYTES:])
