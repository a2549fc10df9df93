"""What was started in a directory: written before it is needed, so that `down` finds what an interrupted `up` left."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, cast

from tachograph.control.dev._errors import StateUnreadable
from tachograph.control.dev._process import Process
from tachograph.core.errors import StoreUnavailable

_FORMAT: Final = 1
_FILE: Final = "servers.json"


@dataclass(frozen=True, slots=True)
class State:
    """The servers of a directory."""

    brokers: int
    cluster_id: str
    access_key: str
    secret_key: str
    ports: Mapping[str, Sequence[int]]
    """Name of a server to its ports; what is not here was never asked for."""
    processes: Mapping[str, Process]
    """Name of a server to the process that was started last."""

    def with_ports(self, ports: Mapping[str, Sequence[int]]) -> State:
        """The same with these ports beside, or in place of, those it has."""
        return replace(self, ports={**self.ports, **ports})

    def with_process(self, name: str, process: Process) -> State:
        """The same with a process that was started."""
        return replace(self, processes={**self.processes, name: process})

    def without_processes(self, names: Sequence[str]) -> State:
        """The same without processes that were ended."""
        kept = {name: process for name, process in self.processes.items() if name not in names}
        return replace(self, processes=kept)


@contextmanager
def locked(directory: Path) -> Generator[None]:
    """One `up` or `down` at a time: the second waits.

    Raises:
        StoreUnavailable: nothing can be written there.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(directory / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StoreUnavailable(str(directory), f"{error.strerror}; name another directory with `--dir DIR`") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def read_state(directory: Path) -> State | None:
    """What was started; None: nothing ever.

    Raises:
        StateUnreadable: the file is not what was written.
    """
    path = directory / _FILE
    try:
        return _state_of(cast("Mapping[str, object]", json.loads(path.read_text())))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise StateUnreadable(str(path), f"{type(error).__name__}: {error}") from error


def write_state(directory: Path, state: State) -> None:
    """Note what was started; whole or not at all, for this user's eyes only."""
    document = {
        "format": _FORMAT,
        "brokers": state.brokers,
        "cluster_id": state.cluster_id,
        "s3": {"access_key": state.access_key, "secret_key": state.secret_key},
        "ports": {name: list(ports) for name, ports in state.ports.items()},
        "processes": {
            name: {"pid": process.pid, "started": process.started} for name, process in state.processes.items()
        },
    }
    write_private(directory / _FILE, json.dumps(document, indent=2).encode())


def write_private(path: Path, data: bytes) -> None:
    """Put a file that only this user can read in place of another."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
    temporary.rename(path)


def _state_of(document: Mapping[str, object]) -> State:
    if document["format"] != _FORMAT:
        raise ValueError(f"format {document['format']!r} is not {_FORMAT}")
    access = cast("Mapping[str, str]", document["s3"])
    processes = cast("Mapping[str, Mapping[str, object]]", document["processes"])
    return State(
        brokers=int(cast("int", document["brokers"])),
        cluster_id=str(document["cluster_id"]),
        access_key=access["access_key"],
        secret_key=access["secret_key"],
        ports={
            name: tuple(map(int, ports)) for name, ports in cast("Mapping[str, list[int]]", document["ports"]).items()
        },
        processes={
            name: Process(int(cast("int", found["pid"])), str(found["started"])) for name, found in processes.items()
        },
    )
