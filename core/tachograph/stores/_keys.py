"""The digest key of a home: made once, by whichever process comes first, or taken from where the tenant's lies."""

from __future__ import annotations

from pathlib import Path

from tachograph.core.errors import CallerError, StoreUnavailable
from tachograph.stores._files import create_once, reason_of
from tachograph.stores._sources import KEY_BYTES, fresh_key

KEY_MODE = 0o600


class OtherKey(CallerError):
    """A home was made under another digest key than the setting names."""

    def __init__(self, own: Path, named: Path) -> None:
        super().__init__(
            f"the home '{own.parents[1]}' has a digest key of its own, which is not the one that TACHO_DIGEST_KEY_FILE "
            f"names ('{named}'): what was recorded under one cannot be read under the other. Name another home, or let "
            f"TACHO_DIGEST_KEY_FILE name '{own}'."
        )


def ensure_key(path: Path, named: Path | None = None) -> None:
    """Make the key unless there is one.

    Args:
        path: where it is to be.
        named: the tenant's key, which it shall be then.

    Raises:
        StoreUnavailable: the tenant's key cannot be read.
    """
    if not path.exists():
        create_once(path, fresh_key() if named is None else read_key(named), mode=KEY_MODE)


def key_file_of(own: Path, named: Path | None) -> Path:
    """The file of the key that a home works with.

    Args:
        own: where the home keeps its key.
        named: the tenant's key, where a setting names it.

    Raises:
        OtherKey: they are two.
        StoreUnavailable: one of them is no key.
    """
    if named is None:
        return own
    if own.exists() and read_key(own) != read_key(named):
        raise OtherKey(own, named)
    return named


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
