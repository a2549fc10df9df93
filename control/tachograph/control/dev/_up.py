"""`up`: start what is not running, on the data it has, and tell how to reach it; or leave nothing running."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tachograph.control.dev._cache import cache_directory
from tachograph.control.dev._errors import OtherServers, PortTaken
from tachograph.control.dev._fetch import Programs
from tachograph.control.dev._interrupt import uninterrupted
from tachograph.control.dev._plan import ALL, Service, fresh_state, names_of, ports_needed, servers_of, settings_of
from tachograph.control.dev._ports import FIRST, LAST, Ports, is_free
from tachograph.control.dev._process import Process, is_alive, kill
from tachograph.control.dev._server import Server
from tachograph.control.dev._sources import fresh_key
from tachograph.control.dev._state import State, locked, read_state, write_private, write_state
from tachograph.core.ports import Progress
from tachograph.stores.backend import backend_of

PORTS = (FIRST, LAST)
"""Where free ports are taken from."""

CONFIG = "tacho.toml"
KEY = "digest.key"


@dataclass(frozen=True, slots=True)
class DevServers:
    """Servers that run and do their work."""

    settings: Mapping[str, str]
    """Variables with which everything else finds them."""
    pids: Mapping[str, int]
    config: Path
    """The same settings as a file for `TACHO_CONFIG`."""
    started: tuple[str, ...]
    """Those that did not run before."""


def up(
    directory: Path,
    *,
    brokers: int | None = None,
    services: Sequence[Service] = ALL,
    ports: tuple[int, int] = PORTS,
    progress: Progress,
    cache: Path | None = None,
) -> DevServers:
    """Start the servers of a directory that do not run, and wait until all of them do their work.

    Args:
        directory: their data, logs, settings and state.
        brokers: 1 or 3; by default as many as there are already, else 1.
        services: which ones; others that run are left alone.
        ports: the range from which free ports are taken, both ends included.
        progress: is told what is waited for.
        cache: where fetched programs are kept; by default this user's cache.

    Raises:
        CallerError: the options cannot be.
        WorldError: a server cannot be had, or does not start; those that were started are ended again.
    """
    directory = directory.absolute()
    with locked(directory):
        state = _known(directory, brokers)
        wanted = names_of(services, state.brokers)
        taken = Ports(*ports)
        started: dict[str, Process] = {}
        try:
            programs = Programs(cache or cache_directory(), progress)
            state = _with_ports(state, wanted, taken)
            servers = [server for server in servers_of(programs, directory, state) if server.name in wanted]
            _fetch(servers, progress)
            state = _start(directory, state, servers, started, progress)
            _wait(servers, state, progress)
            _ensure_topics(directory, state, wanted)
        except BaseException:
            _undo(directory, started)
            raise
        finally:
            taken.release()
        return _told(directory, state, tuple(started))


def _known(directory: Path, brokers: int | None) -> State:
    state = read_state(directory)
    if state is None:
        return fresh_state(brokers or 1)
    has_brokers = any(name.startswith("kafka") for name in state.ports)
    if brokers is None or brokers == state.brokers:
        return state
    if has_brokers:
        raise OtherServers(str(directory), _counted(state.brokers), _counted(brokers))
    return replace(state, brokers=brokers)


def _counted(brokers: int) -> str:
    return f"{brokers} broker{'s' if brokers > 1 else ''}"


def _with_ports(state: State, wanted: Sequence[str], taken: Ports) -> State:
    """The state with ports for every wanted server: those it had, unless others have them and none of its own runs."""
    dead = [name for name in wanted if not _runs(state, name)]
    lost = [name for name in dead if not all(map(is_free, state.ports.get(name, ())))]
    if lost and any(_runs(state, name) for name in state.ports):
        busy = next(port for port in state.ports[lost[0]] if not is_free(port))
        raise PortTaken(lost[0], busy)
    missing = [name for name in dead if name not in state.ports or name in lost]
    return state.with_ports({name: taken.take(ports_needed(name)) for name in missing})


def _runs(state: State, name: str) -> bool:
    process = state.processes.get(name)
    return process is not None and is_alive(process)


def _fetch(servers: Sequence[Server], progress: Progress) -> None:
    """Have every program before anything is started."""
    for done, server in enumerate(servers):
        progress(done, len(servers), f"program of {server.name}")
        server.command()


def _start(
    directory: Path, state: State, servers: Sequence[Server], started: dict[str, Process], progress: Progress
) -> State:
    for done, server in enumerate(servers):
        if _runs(state, server.name):
            continue
        progress(done, len(servers), f"starting {server.name}")
        server.make_ready()
        with uninterrupted():
            started[server.name] = process = server.start(tied=False)
            state = state.with_process(server.name, process)
            write_state(directory, state)
    return state


def _wait(servers: Sequence[Server], state: State, progress: Progress) -> None:
    for done, server in enumerate(servers):
        progress(done, len(servers), f"waiting for {server.name}")
        server.wait(state.processes[server.name])
    progress(len(servers), len(servers), "ready")


def _ensure_topics(directory: Path, state: State, wanted: Sequence[str]) -> None:
    """Make the topics that are missing."""
    kafka = backend_of(settings_of(directory, state)).kafka
    if kafka is None or not any(name.startswith("kafka") for name in wanted):
        return
    # The client takes a while to load: who only wants S3 does without.
    from tachograph.stores.kafka import TOPICS, ensure_topics

    ensure_topics(kafka, TOPICS)


def _undo(directory: Path, started: Mapping[str, Process]) -> None:
    """End what this call started, and no other; a second Ctrl-C waits until that is done."""
    with uninterrupted():
        kill(list(started.values()))
        state = read_state(directory)
        if state is not None:
            write_state(directory, state.without_processes(list(started)))


def _home_key(directory: Path) -> bytes:
    """The digest key of the home that the servers are for, if it has one: what it recorded is read under that alone."""
    try:
        return (directory.parent / "keys" / KEY).read_bytes()
    except OSError:
        return b""


def _told(directory: Path, state: State, started: tuple[str, ...]) -> DevServers:
    key = directory / KEY
    if not key.exists():
        write_private(key, _home_key(directory) or fresh_key())
    settings = settings_of(directory, state)
    lines = (f'{name.removeprefix("TACHO_").lower()} = "{_quoted(value)}"\n' for name, value in settings.items())
    write_private(directory / CONFIG, "".join(lines).encode())
    pids = {name: process.pid for name, process in state.processes.items() if is_alive(process)}
    return DevServers(settings, pids, directory / CONFIG, started)


def _quoted(value: str) -> str:
    """A basic string of TOML: of what a path can hold, these two need care, and control characters never occur."""
    return value.replace("\\", "\\\\").replace('"', '\\"')
