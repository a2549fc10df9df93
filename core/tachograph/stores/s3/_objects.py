"""Content-addressed objects in a bucket: `TENANT/objects/ab/cdef…`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tachograph.core.errors import StoreUnavailable
from tachograph.stores._packing import packed, unpacked
from tachograph.stores.s3._bucket import Bucket
from tachograph.stores.s3._names import name_part

KEY_BYTES = 32

_REMEMBERED_MAX = 65_536
"""Keys known to be stored: 65,536 of 32 bytes stay below 10 MB."""


class S3Objects:
    """An `ObjectStore` of one tenant. What is put is durable when `put` returns. Safe for several threads.

    Args:
        bucket: where the objects lie.
        tenant: whose they are.
    """

    def __init__(self, bucket: Bucket, tenant: str) -> None:
        self.prefix: Final = f"{name_part(tenant)}/objects/"
        self._bucket = bucket
        self._stored: set[bytes] = set()

    def put(self, key: bytes, data: bytes) -> None:
        """Store and verify what may be there already; damaged bytes under the key are mended.

        Raises:
            StoreUnavailable: it could not be stored.
        """
        if key in self._stored:
            return
        name, content = self.name_of(key), packed(data)
        if not self._bucket.put_new(name, content) and self.get(key) != data:
            self._bucket.mend(name, content)
        if len(self._stored) >= _REMEMBERED_MAX:
            self._stored.clear()
        self._stored.add(key)

    def get(self, key: bytes) -> bytes | None:
        """The object, or None.

        Raises:
            StoreUnavailable: the store does not answer.
        """
        content = self._bucket.get(self.name_of(key))
        return None if content is None else unpacked(content)

    def keys(self) -> Iterator[bytes]:
        """Every key, sorted.

        Raises:
            StoreUnavailable: the store does not answer.
        """
        for name in self._bucket.names(self.prefix):
            text = name.removeprefix(self.prefix).replace("/", "")
            if len(text) == 2 * KEY_BYTES and not text.strip("0123456789abcdef"):
                yield bytes.fromhex(text)

    def name_of(self, key: bytes) -> str:
        """Where an object lies in the bucket, or would.

        Raises:
            StoreUnavailable: it is no key.
        """
        if len(key) != KEY_BYTES:
            raise StoreUnavailable(
                self._bucket.endpoint, f"a key has {KEY_BYTES} bytes, this one has {len(key)}: {key!r}"
            )
        text = key.hex()
        return f"{self.prefix}{text[:2]}/{text[2:]}"
