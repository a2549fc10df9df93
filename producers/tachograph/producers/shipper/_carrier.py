"""Carries bodies to where all can read them, several at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from tachograph.core.ports import ObjectStore

CONNECTIONS: Final = 8
"""Objects on their way at the same time: a put waits for the server most of its time."""

_ROUND: Final = 256
"""Objects handed out before it is looked whether all arrived: 4 MiB at most."""

_CARRIED_MAX: Final = 65_536
"""Keys known to be there: below 10 MB."""


class Carrier:
    """Copies objects, each once.

    Args:
        near: where they are.
        far: makes the store that they are to be in, for a tenant.
    """

    def __init__(self, near: ObjectStore, far: Callable[[str], ObjectStore]) -> None:
        self._near = near
        self._far = far
        self._stores: dict[str, ObjectStore] = {}
        self._carried: set[tuple[str, bytes]] = set()
        self._pool: ThreadPoolExecutor | None = None
        self.bodies = 0
        """Objects that are there now."""

    def carry(self, tenant: str, keys: Iterable[bytes]) -> list[bytes]:
        """Return when the objects are there; those that are not where they should come from.

        Raises:
            StoreUnavailable: a store does not answer; what arrived is known.
        """
        news = [key for key in dict.fromkeys(keys) if (tenant, key) not in self._carried]
        missing: list[bytes] = []
        for start in range(0, len(news), _ROUND):
            part = news[start : start + _ROUND]
            there = self._put(tenant, part)
            missing += [key for key, is_there in zip(part, there, strict=True) if not is_there]
            if len(self._carried) >= _CARRIED_MAX:
                self._carried.clear()
            self._carried.update((tenant, key) for key, is_there in zip(part, there, strict=True) if is_there)
            self.bodies += sum(there)
        return missing

    def close(self) -> None:
        """Let go of the threads."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = None

    def _put(self, tenant: str, keys: list[bytes]) -> list[bool]:
        store = self._stores.get(tenant)
        if store is None:
            store = self._stores[tenant] = self._far(tenant)
        chosen = store

        def put(key: bytes) -> bool:
            data = self._near.get(key)
            if data is not None:
                chosen.put(key, data)
            return data is not None

        if len(keys) == 1:
            return [put(keys[0])]
        try:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(CONNECTIONS, "tachograph-bodies")
            return list(self._pool.map(put, keys))
        except RuntimeError:  # the interpreter is about to end and starts no threads
            return [put(key) for key in keys]
