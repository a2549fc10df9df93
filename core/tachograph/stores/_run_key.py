"""The file that holds a run's data key, wrapped under its tenant's; shredding it erases everything raw of the run."""

from __future__ import annotations

import os
from base64 import b64decode, b64encode
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import orjson

from tachograph.core.errors import StoreUnavailable
from tachograph.stores._files import create_once, reason_of, sync_directory, write_all, write_temporary
from tachograph.stores._sources import now_us

_FORMAT = "tachograph-run-key"
_VERSION = 1
_MODE = 0o600


@dataclass(frozen=True, slots=True)
class RunKey:
    """What the file says."""

    run_id: str
    tenant: str
    wrapped: bytes | None
    """None: it was shredded."""


def read_run_key(path: Path) -> RunKey | None:
    """The key of a run; None where it never had one.

    Raises:
        StoreUnavailable: the file cannot be read, or is none.
    """
    try:
        said = cast("dict[str, str | int | None]", orjson.loads(path.read_bytes()))
        wrapped = said["wrapped"]
        if (said["format"], said["version"]) != (_FORMAT, _VERSION):
            raise StoreUnavailable(str(path), f"it is of version {said['version']!r}, this release reads {_VERSION}")
        return RunKey(
            str(said["run_id"]),
            str(said["tenant"]),
            None if wrapped is None else b64decode(str(wrapped), validate=True),
        )
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreUnavailable(str(path), reason_of(error)) from error
    except (ValueError, KeyError, TypeError) as error:
        raise StoreUnavailable(str(path), "it is no run's key; restore it from a backup") from error


def create_run_key(path: Path, key: RunKey) -> bool:
    """Write the file, durably, unless there is one; whether it is ours.

    Raises:
        OSError: as the operating system gives it.
    """
    if not path.parent.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        sync_directory(path.parent.parent.parent)
    sync_directory(path.parent.parent)  # even if another process made the directory: it may not have come to this
    return create_once(path, _to_bytes(key), mode=_MODE)


def shred_run_key(path: Path, key: RunKey) -> None:
    """Overwrite the wrapped key where it lies, then leave a file that says so.

    Raises:
        OSError: as the operating system gives it; the key may still be there.
    """
    descriptor = os.open(path, os.O_WRONLY)
    try:
        write_all(descriptor, bytes(os.fstat(descriptor).st_size))
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    write_temporary(path, _to_bytes(RunKey(key.run_id, key.tenant, None)), mode=_MODE).rename(path)
    sync_directory(path.parent)


def _to_bytes(key: RunKey) -> bytes:
    said: dict[str, str | int | None] = {
        "format": _FORMAT,
        "version": _VERSION,
        "run_id": key.run_id,
        "tenant": key.tenant,
        "wrapped": None if key.wrapped is None else b64encode(key.wrapped).decode(),
    }
    if key.wrapped is None:
        said["shredded_at_us"] = now_us()
    return orjson.dumps(said) + b"\n"
