"""The port to whoever keeps the keys of tenants: a directory, or a key service."""

from __future__ import annotations

from typing import Protocol


class KeyWrapper(Protocol):
    """Wraps the data key of a run under its tenant's key, which never leaves it. Safe to use from several threads."""

    def wrap(self, tenant: str, run_id: str, key: bytes) -> bytes:
        """The data key as it may be stored.

        Raises:
            KeyRefused: it cannot be wrapped.
        """
        ...

    def unwrap(self, tenant: str, run_id: str, wrapped: bytes) -> bytes:
        """The data key that was wrapped for this tenant and run.

        Raises:
            KeyRefused: the tenant's key is not there, is another one, or may not be used; or it was wrapped for another run.
        """
        ...
