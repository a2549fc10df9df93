"""`tacho dev`: real servers on this machine, for development and for tests."""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

from tachograph.control._answer import Answer, Document
from tachograph.control._errors import UsageError
from tachograph.control._exit import ExitCode
from tachograph.control._parser import Commands, add_command
from tachograph.control._progress import progress
from tachograph.control._screen import Part, Screen, Span
from tachograph.control._settings import Settings
from tachograph.control.dev import ALL, PORTS, DevServers, ServerStatus, Service, down, status, up
from tachograph.core.errors import InvalidSetting

_RANGE = re.compile(r"(\d{1,5})-(\d{1,5})")
_PORT_MIN, _PORT_MAX = 1024, 65_535


def register(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands, "dev", "start, end or show real servers on this machine: Kafka, registry, S3, Redis", _dev
    )
    parser.add_argument("action", choices=("up", "down", "status"), help="`down` keeps the data")
    parser.add_argument("--dir", metavar="DIR", help="where their data, logs and settings are (default: HOME/dev)")
    parser.add_argument(
        "--brokers", type=int, choices=(1, 3), help="brokers of Kafka (default: as many as there are, else 1)"
    )
    parser.add_argument("--services", metavar="NAMES", help=f"only these, with commas: {','.join(ALL)} (default: all)")
    parser.add_argument("--ports", metavar="FIRST-LAST", help="where free ports are taken from (default: 20000-29999)")


def _dev(arguments: argparse.Namespace, settings: Settings) -> Answer:
    directory = _directory(arguments.dir, settings)
    action = str(arguments.action)
    if action == "up":
        return _up(arguments, directory)
    for option in ("brokers", "services", "ports"):
        if getattr(arguments, option) is not None:
            raise UsageError(f"--{option} is an option of `tacho dev up`, not of `{action}`", "See `tacho dev --help`.")
    return _down(directory) if action == "down" else _status(directory)


def _directory(text: str | None, settings: Settings) -> Path:
    if text == "":
        raise InvalidSetting("--dir", text, "name a directory, or leave the option out for `dev` in the home")
    return settings.home / "dev" if text is None else Path(text)


def _up(arguments: argparse.Namespace, directory: Path) -> Answer:
    services, ports = _services(arguments.services), _ports(arguments.ports)
    with progress("dev up") as shown:
        servers = up(directory, brokers=arguments.brokers, services=services, ports=ports, progress=shown)
    document: dict[str, Document] = {
        "settings": dict(servers.settings),
        "config": str(servers.config),
        "pids": dict(servers.pids),
        "started": list(servers.started),
    }
    return Answer(document, lambda screen: _render_up(screen, servers))


def _services(text: str | None) -> Sequence[Service]:
    if text is None:
        return ALL
    names = [name.strip() for name in text.split(",")]
    if not set(names) <= set(ALL):
        raise InvalidSetting("--services", text, f"name some of {', '.join(ALL)}, with commas between them")
    return cast("Sequence[Service]", names)


def _ports(text: str | None) -> tuple[int, int]:
    if text is None:
        return PORTS
    found = _RANGE.fullmatch(text)
    first, last = (int(found[1]), int(found[2])) if found else (0, 0)
    if not _PORT_MIN <= first <= last <= _PORT_MAX:
        raise InvalidSetting("--ports", text, f"give two ports from {_PORT_MIN} to {_PORT_MAX}, as in 20000-29999")
    return first, last


def _render_up(screen: Screen, servers: DevServers) -> None:
    """Lines that a shell can take whole: what is no setting is a comment."""
    running = ", ".join(f"{name} (pid {pid})" for name, pid in sorted(servers.pids.items()))
    screen.line(Span(f"# running: {running}", "dim"))
    for name, value in servers.settings.items():
        screen.line(f"export {name}={shlex.quote(value)}")
    screen.line(Span("# the same in one file, which keeps the keys out of the environment:", "dim"))
    screen.line(Span(f"# export TACHO_CONFIG={shlex.quote(str(servers.config))}", "dim"))


def _down(directory: Path) -> Answer:
    ended = down(directory)
    document: dict[str, Document] = {"ended": list(ended)}
    told = f"ended: {', '.join(ended)}" if ended else f"nothing runs in {directory}"
    return Answer(document, lambda screen: screen.line(told))


def _status(directory: Path) -> Answer:
    found = status(directory)
    code = ExitCode.OK if found and all(server.healthy for server in found) else ExitCode.LIMITED
    document: dict[str, Document] = {"servers": [_document(server) for server in found]}
    return Answer(document, lambda screen: _render_status(screen, found, directory), code)


def _document(server: ServerStatus) -> Mapping[str, Document]:
    return {
        "name": server.name,
        "pid": server.pid,
        "port": server.port,
        "healthy": server.healthy,
        "memory_bytes": server.memory_bytes,
        "log": str(server.log),
    }


def _render_status(screen: Screen, found: Sequence[ServerStatus], directory: Path) -> None:
    if not found:
        screen.line(f"no servers in {directory}: start them with `tacho dev up`")
        return
    rows: list[list[Part]] = [
        [
            server.name,
            _health(server),
            str(server.pid or "-"),
            str(server.port),
            f"{server.memory_bytes / 1e6:.0f} MB",
            str(server.log),
        ]
        for server in found
    ]
    screen.table(["SERVER", "STATE", "PID", "PORT", "MEMORY", "LOG"], rows)


def _health(server: ServerStatus) -> Span:
    if server.healthy:
        return Span("healthy", "good")
    return Span("not running" if server.pid is None else "not ready", "bad")
