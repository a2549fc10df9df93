"""Who may execute an effect: under a key one attempt at a time, in whichever process.

A claim is the lock of a file, `claims/DIGEST`, which the operating system lets go of when its process ends, however that
ends. What a dead process had on its way is in the log: whoever gets the claim next finds it there, UNKNOWN.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
from pathlib import Path

from tachograph.core.errors import ReconciliationRequired, StoreUnavailable
from tachograph.stores._files import lock, reason_of
from tachograph.stores._forks import close_in_children

_HOLDER_BYTES_MAX = 1024
_UNNAMED = "of another process"
"""Where the holder has not come to write its effect's id."""


class EffectClaims:
    """The claims that this process holds. Safe to use from several threads; a forked child holds none of its parent's.

    Args:
        directory: where the locks lie; made when it is first needed.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._lock = threading.Lock()
        self._held: dict[Path, int] = {}
        close_in_children(self)

    def take(self, tenant: str, name: str, idempotency_key: str, effect_id: str) -> Path:
        """Claim an effect until `release` is called, or this process ends.

        Returns:
            What to release.

        Raises:
            ReconciliationRequired: another attempt holds the claim: it may happen.
            StoreUnavailable: the operating system refuses.
        """
        path = self._path(tenant, name, idempotency_key)
        try:
            descriptor, holder = self._locked(path)
            if holder is None:
                if os.fstat(descriptor).st_size:
                    os.truncate(descriptor, 0)
                os.pwrite(descriptor, effect_id.encode("utf-8", "backslashreplace"), 0)
        except OSError as error:
            raise StoreUnavailable(str(path), reason_of(error)) from error
        if holder is not None:
            raise ReconciliationRequired(name, idempotency_key, holder or _UNNAMED)
        with self._lock:
            self._held[path] = descriptor
        return path

    def release(self, claim: Path) -> None:
        """Let others try. To be called once the log says how it ended; releasing twice is as releasing once."""
        with self._lock:
            descriptor = self._held.pop(claim, -1)
        if descriptor >= 0:
            with contextlib.suppress(OSError):  # a file that stays is no claim
                claim.unlink()  # while it is locked: whoever has opened this very file sees that it is gone
            os.close(descriptor)

    def abandon(self) -> None:
        """In a forked child: let go, without a word, of what the parent holds."""
        self._lock = threading.Lock()
        for descriptor in self._held.values():
            os.close(descriptor)
        self._held = {}

    def _locked(self, path: Path) -> tuple[int, str | None]:
        """The claim's open file, locked; or closed again, and what its holder wrote."""
        while True:
            descriptor = self._open(path)
            try:
                if not lock(descriptor):
                    holder = os.pread(descriptor, _HOLDER_BYTES_MAX, 0).decode("utf-8", "replace")
                    os.close(descriptor)
                    return -1, holder
                if os.fstat(descriptor).st_nlink:
                    return descriptor, None
            except OSError:
                os.close(descriptor)
                raise
            os.close(descriptor)  # its holder removed it between our opening and locking it

    def _open(self, path: Path) -> int:
        flags = os.O_RDWR | os.O_CREAT
        try:
            return os.open(path, flags, 0o644)
        except FileNotFoundError:
            self._directory.mkdir(exist_ok=True)
            return os.open(path, flags, 0o644)

    def _path(self, tenant: str, name: str, idempotency_key: str) -> Path:
        # Hashed: a key can then neither leave the directory nor be too long for a file name.
        parts = [part.encode("utf-8", "surrogatepass") for part in (tenant, name, idempotency_key)]
        named = b"".join(len(part).to_bytes(8, "big") + part for part in parts)
        return self._directory / hashlib.sha256(named).hexdigest()
