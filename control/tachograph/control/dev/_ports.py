"""Free ports of 127.0.0.1, which no other process of this user's servers gets meanwhile."""

from __future__ import annotations

import fcntl
import os
import socket
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tachograph.control.dev._errors import NoFreePort
from tachograph.control.dev._sources import anywhere

HOST = "127.0.0.1"
FIRST, LAST = 20_000, 29_999
"""Below the range that the kernel gives to outgoing connections (ip_local_port_range: 32768 to 60999)."""


@dataclass(slots=True)
class Ports:
    """Gives ports of a range.

    Each is held by a lock on a file, whose descriptor the servers inherit: another process that looks for ports at the
    same time passes it by, before anybody listens there and for as long as the server lives.
    """

    first: int = FIRST
    last: int = LAST
    _held: list[int] = field(default_factory=list[int])

    def take(self, count: int) -> list[int]:
        """So many free ports.

        Raises:
            NoFreePort: the range has not as many.
        """
        found: list[int] = []
        for port in self._all():
            if len(found) == count:
                break
            if self._hold(port):
                found.append(port)
        if len(found) < count:
            raise NoFreePort(self.first, self.last, count)
        return found

    def release(self) -> None:
        """Give up this process's hold; the servers that were started keep theirs."""
        while self._held:
            os.close(self._held.pop())

    def _all(self) -> Iterator[int]:
        """Every port of the range once, from anywhere on: two that look at once rarely meet."""
        count = self.last - self.first + 1
        start = anywhere(count)
        return (self.first + (start + i) % count for i in range(count))

    def _hold(self, port: int) -> bool:
        directory = Path(tempfile.gettempdir()) / f"tachograph-ports-{os.getuid()}"
        directory.mkdir(mode=0o700, exist_ok=True)
        descriptor = os.open(directory / str(port), os.O_RDWR | os.O_CREAT, 0o600)
        if not _lock(descriptor) or not is_free(port):
            os.close(descriptor)
            return False
        os.set_inheritable(descriptor, True)
        self._held.append(descriptor)
        return True


def is_free(port: int) -> bool:
    """Whether nobody listens on a port."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


def _lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
