"""Keys of tenants in a directory, and runs' keys wrapped under them."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Final

from tachograph.core.errors import KeyRefused, SealBroken
from tachograph.core.sealing import SEALING_KEY_BYTES, Sealer, bound
from tachograph.stores._aead import aes_gcm
from tachograph.stores._files import reason_of, sync_directory
from tachograph.stores._keys import ensure_key
from tachograph.stores._sources import random_bytes

_PURPOSE = "run key"


class TenantKeys:
    """A `KeyWrapper` over a directory with one key file for each tenant; keys are made when they are first needed.

    Args:
        path: the directory; whoever can read it and the home can read everything raw.
    """

    def __init__(self, path: Path | str) -> None:
        self.path: Final = Path(path)

    def wrap(self, tenant: str, run_id: str, key: bytes) -> bytes:
        """A run's key, sealed under the tenant's.

        Raises:
            KeyRefused: the tenant's key can be neither read nor made.
        """
        try:
            if not self.path.exists():
                self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
                sync_directory(self.path.parent)
            ensure_key(self.path_of(tenant))
        except OSError as error:
            raise KeyRefused(tenant, run_id, f"{str(self.path)!r} cannot be written: {reason_of(error)}") from error
        return self._sealer(tenant, run_id).seal(key, bound(_PURPOSE, tenant, run_id))

    def unwrap(self, tenant: str, run_id: str, wrapped: bytes) -> bytes:
        """The run's key.

        Raises:
            KeyRefused: the tenant's key is not here or is another one, or it was wrapped for another run.
        """
        try:
            return self._sealer(tenant, run_id).open(wrapped, bound(_PURPOSE, tenant, run_id))
        except SealBroken as error:
            raise KeyRefused(tenant, run_id, error.reason) from error

    def path_of(self, tenant: str) -> Path:
        """The file of a tenant's key: hashed, as a tenant's name may be anything."""
        return self.path / f"{hashlib.sha256(tenant.encode('utf-8', 'surrogatepass')).hexdigest()}.key"

    def _sealer(self, tenant: str, run_id: str) -> Sealer:
        path = self.path_of(tenant)
        try:
            key = path.read_bytes()
        except OSError as error:
            raise KeyRefused(tenant, run_id, f"{str(path)!r} cannot be read: {reason_of(error)}") from error
        if len(key) != SEALING_KEY_BYTES:
            raise KeyRefused(tenant, run_id, f"{str(path)!r} has {len(key)} bytes, a key has {SEALING_KEY_BYTES}")
        return Sealer(key, aes_gcm, random_bytes)
