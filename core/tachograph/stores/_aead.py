"""AES-256-GCM from the `cryptography` package: the only module that knows it."""

from __future__ import annotations

import importlib
from typing import Protocol, cast

from tachograph.core.errors import InvalidSetting
from tachograph.core.sealing import Cipher

_INSTALL = "keeping raw bodies needs the cryptography package; install it with `pip install 'tachograph[raw]'`"


class _AesGcm(Protocol):
    """What is used of `AESGCM`."""

    def encrypt(self, nonce: bytes, data: bytes, associated_data: bytes | None) -> bytes: ...
    def decrypt(self, nonce: bytes, data: bytes, associated_data: bytes | None) -> bytes: ...


class _Gcm:
    """A `Cipher`."""

    __slots__ = ("_aead", "_invalid")

    def __init__(self, aead: _AesGcm, invalid: type[Exception]) -> None:
        self._aead = aead
        self._invalid = invalid

    def seal(self, nonce: bytes, data: bytes, associated: bytes) -> bytes:
        return self._aead.encrypt(nonce, data, associated)

    def open(self, nonce: bytes, sealed: bytes, associated: bytes) -> bytes | None:
        try:
            return self._aead.decrypt(nonce, sealed, associated)
        except self._invalid:
            return None


def aes_gcm(key: bytes) -> Cipher:
    """AES-256-GCM under a key.

    Raises:
        InvalidSetting: the `cryptography` package is not installed.
    """
    try:
        ciphers = importlib.import_module("cryptography.hazmat.primitives.ciphers.aead")
        exceptions = importlib.import_module("cryptography.exceptions")
    except ImportError:
        raise InvalidSetting("raw", value=True, reason=_INSTALL) from None
    return _Gcm(cast("_AesGcm", ciphers.AESGCM(key)), cast("type[Exception]", exceptions.InvalidTag))
