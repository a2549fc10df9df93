"""Writing a run into one self-contained file."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import cast

from tachograph.control._errors import OutputExists
from tachograph.core.canonical import Digester, group_keys
from tachograph.core.errors import MissingBody, StoreUnavailable
from tachograph.schemas import Body, decode, write_container
from tachograph.stores import Home

FORMAT = "tachograph-run/1"
"""In the manifest: what the container holds."""


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written."""

    events: int
    objects: int
    """Pieces of bodies that are kept apart from their events."""
    bytes: int


def export_run(home: Home, run_id: str, target: Path) -> Exported:
    """Write a run's events as they lie in the log, and every object that they name.

    The file appears whole or not at all.

    Raises:
        OutputExists: there is a file of this name.
        MissingBody: an object is not in the store.
        StoreUnavailable: the file cannot be written.
    """
    if target.exists():
        raise OutputExists(str(target))
    payloads = [stored.payload for stored in home.log.read_run(run_id)]
    objects = dict(objects_of(home, payloads))
    manifest = {
        "format": FORMAT,
        "run_id": run_id,
        "digest_key": key_mark(home.digester),
        "written_by": f"tachograph {version('tachograph')}",
    }
    temporary = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with temporary.open("xb") as file:
            write_container(file, payloads, manifest, objects.items())
            file.flush()
            os.fsync(file.fileno())
        os.link(temporary, target)
        return Exported(len(payloads), len(objects), target.stat().st_size)
    except FileExistsError as error:
        raise OutputExists(str(target)) from error
    except OSError as error:
        raise StoreUnavailable(str(target), f"it cannot be written: {error.strerror}") from error
    finally:
        temporary.unlink(missing_ok=True)


def key_mark(digester: Digester) -> str:
    """Tells whether two homes have the same digest key, without telling the key."""
    return digester.digest(FORMAT.encode()).hex()


def objects_of(home: Home, payloads: Sequence[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """Every object that the events' bodies name, with its key; some more than once.

    Raises:
        MissingBody: one is not in the store.
    """
    for payload in payloads:
        event = decode(payload)
        for body in _bodies(event):
            waiting = list(body.chunks)
            while waiting:
                key = waiting.pop()
                data = home.objects.get(key)
                if data is None:
                    meta = event.meta
                    where = f"{meta.run_id}/{meta.agent_id}#{meta.incarnation}.{meta.seq}"
                    raise MissingBody(key.hex(), where)
                yield key, data
                waiting += group_keys(data)


def _bodies(value: object) -> Iterator[Body]:
    """Every body within an event, wherever its fields hold one."""
    if isinstance(value, Body):
        yield value
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            yield from _bodies(cast("object", getattr(value, field.name)))
