"""The digest key of a home: made once, by whichever process comes first."""

from __future__ import annotations

from pathlib import Path

from tachograph.core.errors import StoreUnavailable
from tachograph.stores._files import create_once, reason_of
from tachograph.stores._sources import KEY_BYTES, fresh_key

KEY_MODE = 0o600


def ensure_key(path: Path) -> None:
    """Make the key unless there is one."""
    if not path.exists():
        create_once(path, fresh_key(), mode=KEY_MODE)


def read_key(path: Path) -> bytes:
    """The key.

    Raises:
        StoreUnavailable: it is missing or is not a key.
    """
    try:
        key = path.read_bytes()
    except OSError as error:
        raise StoreUnavailable(
            str(path), f"{reason_of(error)}; restore it from a backup, no digest can be checked without it"
        ) from error
    if len(key) != KEY_BYTES:
        raise StoreUnavailable(
            str(path), f"a digest key has {KEY_BYTES} bytes, this file has {len(key)}; restore it from a backup"
        )
    return key
