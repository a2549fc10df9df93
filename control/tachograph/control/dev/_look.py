"""`status` and `down`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tachograph.control.dev._cache import cache_directory
from tachograph.control.dev._fetch import Programs
from tachograph.control.dev._plan import servers_of
from tachograph.control.dev._process import end, is_alive, kill, memory_bytes
from tachograph.control.dev._server import Server
from tachograph.control.dev._state import State, locked, read_state, write_state

_SECONDS_MAX = 15.0
"""A broker hands its partitions over and closes its log well within this."""


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """One server."""

    name: str
    port: int
    """Where its clients connect, on 127.0.0.1."""
    pid: int | None
    """None: it does not run."""
    healthy: bool
    """It does its work: a broker sees all brokers, S3 gives back what is put."""
    memory_bytes: int
    log: Path


def status(directory: Path) -> tuple[ServerStatus, ...]:
    """Every server that was ever started in a directory.

    Raises:
        StateUnreadable: what was started cannot be told any more.
    """
    directory = directory.absolute()
    state = read_state(directory)
    if state is None:
        return ()
    servers = servers_of(Programs(cache_directory()), directory, state)
    return tuple(_status(server, state) for server in servers)


def down(directory: Path) -> tuple[str, ...]:
    """End the servers of a directory; their data stays. Returns the names of those that ran.

    Raises:
        StateUnreadable: what was started cannot be told any more.
    """
    directory = directory.absolute()
    if not directory.exists():
        return ()
    with locked(directory):
        state = read_state(directory)
        if state is None:
            return ()
        running = {name: process for name, process in state.processes.items() if is_alive(process)}
        # SeaweedFS takes minutes over an orderly end, and loses nothing without: its volumes are append-only.
        kill([process for name, process in running.items() if name == "s3"])
        end([process for name, process in running.items() if name != "s3"], _SECONDS_MAX)
        write_state(directory, state.without_processes(list(state.processes)))
    return tuple(running)


def _status(server: Server, state: State) -> ServerStatus:
    process = state.processes.get(server.name)
    if process is None or not is_alive(process):
        return ServerStatus(server.name, server.port, None, healthy=False, memory_bytes=0, log=server.log)
    memory = memory_bytes(process)
    return ServerStatus(server.name, server.port, process.pid, server.is_healthy(), memory, server.log)
