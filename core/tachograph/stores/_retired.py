"""What stays of a spool that was removed because the archive holds its events: where its effects stand, and how far its
streams go.

The ledger of effects must know them before another effect leaves, whether or not a server answers, so they are kept here:
`log/.retired/SPOOL.json`. As soon as that file is there, the spool counts as removed, whatever is still left of it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, cast

import orjson

from tachograph.core.errors import CorruptFrame, StoreUnavailable
from tachograph.stores._database import Row
from tachograph.stores._files import create_once, reason_of, sync_directory

_FORMAT: Final = 1
_DIRECTORY, _SUFFIX = ".retired", ".json"
_DIGEST_CHARACTERS: Final = 64

StreamKey = tuple[str, str, int]


@dataclass(frozen=True, slots=True)
class Retired:
    """What stays of a spool."""

    spool: str
    events: int
    """How many it held."""
    streams: Mapping[StreamKey, int]
    """The last number of each stream (run, agent, incarnation) in it."""
    effects: Sequence[Row]
    """Where they stood, as the catalogue's table of transitions has them."""


def keep_retired(log_directory: Path, retired: Retired) -> None:
    """Keep what stays, durably: from now on the spool counts as removed.

    Raises:
        OSError: as the operating system gives it.
    """
    directory = log_directory / _DIRECTORY
    if not directory.is_dir():
        directory.mkdir(exist_ok=True)
        sync_directory(log_directory)
    streams = [[*key, seq] for key, seq in retired.streams.items()]
    fields = {
        "format": _FORMAT,
        "spool": retired.spool,
        "events": retired.events,
        "streams": streams,
        "effects": list(retired.effects),
    }
    body = orjson.dumps(fields)
    digest = hashlib.sha256(body).hexdigest().encode()
    create_once(directory / f"{retired.spool}{_SUFFIX}", digest + b"\n" + body + b"\n")


def is_retired(log_directory: Path, spool: str) -> bool:
    """Whether a spool counts as removed."""
    return (log_directory / _DIRECTORY / f"{spool}{_SUFFIX}").exists()


def retired_names(log_directory: Path) -> list[str]:
    """The spools that count as removed, oldest first.

    Raises:
        StoreUnavailable: the operating system refuses.
    """
    directory = log_directory / _DIRECTORY
    try:
        names = [entry.name for entry in directory.iterdir()]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise StoreUnavailable(str(directory), reason_of(error)) from error
    return sorted(name.removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX) and name[0] != ".")


def retired_stamp(log_directory: Path) -> tuple[int, int]:
    """Changes whenever a spool is retired, but perhaps for two at the same moment; looking costs one call."""
    try:
        found = (log_directory / _DIRECTORY).stat()
    except OSError:
        return 0, 0
    return found.st_mtime_ns, found.st_size


def read_retired(log_directory: Path, spool: str) -> Retired:
    """What stays of a spool.

    Raises:
        CorruptFrame: the bytes are not what was written.
        StoreUnavailable: the operating system refuses.
    """
    path = log_directory / _DIRECTORY / f"{spool}{_SUFFIX}"
    try:
        data = path.read_bytes()
    except OSError as error:
        raise StoreUnavailable(str(path), reason_of(error)) from error
    digest, body = data[:_DIGEST_CHARACTERS], data[_DIGEST_CHARACTERS + 1 : -1]
    if hashlib.sha256(body).hexdigest().encode() != digest:
        raise CorruptFrame(str(path), 0, "its digest is not that of its bytes; restore it from a backup")
    return _parsed(path, body)


def _parsed(path: Path, body: bytes) -> Retired:
    read = orjson.loads(body)
    if read["format"] != _FORMAT:
        raise CorruptFrame(str(path), 0, f"its format is {read['format']!r}; a newer release may have written it")
    streams = cast("list[tuple[str, str, int, int]]", read["streams"])
    return Retired(
        str(read["spool"]),
        int(read["events"]),
        {(run_id, agent_id, incarnation): seq for run_id, agent_id, incarnation, seq in streams},
        [tuple(row) for row in cast("list[list[str | int | None]]", read["effects"])],
    )
