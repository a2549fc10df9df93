"""A key service that lives in memory."""

from __future__ import annotations

import hashlib

from tachograph.core.errors import KeyRefused

_WRAPPED = b"wrapped in memory "


class MemoryKeys:
    """A `KeyWrapper` whose wrapped keys are only names: what they stand for is kept here, and goes with it."""

    def __init__(self) -> None:
        self._keys: dict[tuple[str, str, bytes], bytes] = {}
        self.refusing: str | None = None
        """The reason for which every key is refused from now on; None: none is."""

    def wrap(self, tenant: str, run_id: str, key: bytes) -> bytes:
        """The name of a key.

        Raises:
            KeyRefused: while `refusing`.
        """
        self._check(tenant, run_id)
        name = _WRAPPED + hashlib.sha256(key).digest()
        self._keys[tenant, run_id, name] = key
        return name

    def unwrap(self, tenant: str, run_id: str, wrapped: bytes) -> bytes:
        """The key of a name.

        Raises:
            KeyRefused: while `refusing`, or it was not wrapped here for this tenant and run.
        """
        self._check(tenant, run_id)
        try:
            return self._keys[tenant, run_id, wrapped]
        except KeyError:
            raise KeyRefused(tenant, run_id, "it was not wrapped here for them") from None

    def forget(self, tenant: str) -> None:
        """Lose a tenant's keys."""
        self._keys = {place: key for place, key in self._keys.items() if place[0] != tenant}

    def _check(self, tenant: str, run_id: str) -> None:
        if self.refusing is not None:
            raise KeyRefused(tenant, run_id, self.refusing)
