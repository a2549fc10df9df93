"""Network faults between a test and a server: toxiproxy, a real proxy that delays, cuts and swallows what passes.

with kafka_behind_proxy(tmp_path) as (cluster, link):
    link.stall()                   # connections stay open, nothing comes through any more
    link.heal()
"""

from __future__ import annotations

import http.client
import json
import os
import shutil
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from service_plans import kafka_plan
from services import Own, Running, started
from tachograph.control.dev._cache import cache_directory, kept
from tachograph.control.dev._kafka import BrokerPorts
from tachograph.control.dev._ports import HOST, Ports
from tachograph.control.dev._process import kill
from tachograph.control.dev._server import Server

VERSION: Final = "2.5.0"
"""The newest that Debian 12's Go builds."""
_MODULE: Final = f"github.com/Shopify/toxiproxy/v2/cmd/server@v{VERSION}"


@dataclass(frozen=True, slots=True)
class Link:
    """A proxy in front of one server."""

    control_port: int
    name: str
    port: int
    """Where clients connect."""

    def latency(self, milliseconds: int) -> None:
        """Every answer takes so much longer."""
        self._toxic("latency", "downstream", latency=milliseconds)

    def stall(self) -> None:
        """Half-open: connections stay, new ones are taken, nothing comes through in either direction."""
        self._toxic("timeout", "downstream", timeout=0)
        self._toxic("timeout", "upstream", timeout=0)

    def reset(self) -> None:
        """Connections end with a TCP reset."""
        self._toxic("reset_peer", "downstream", timeout=0)

    def bandwidth(self, kilobytes_per_second: int) -> None:
        """What is sent trickles."""
        self._toxic("bandwidth", "upstream", rate=kilobytes_per_second)

    def cut_after(self, size: int) -> None:
        """Each connection ends after so many bytes of answers."""
        self._toxic("limit_data", "downstream", bytes=size)

    def cut(self) -> None:
        """Connections are closed, new ones refused."""
        _call(self.control_port, "POST", f"/proxies/{self.name}", {"enabled": False})

    def heal(self) -> None:
        """All as it was."""
        _call(self.control_port, "POST", f"/proxies/{self.name}", {"enabled": True})
        for toxic in _call(self.control_port, "GET", f"/proxies/{self.name}/toxics"):
            _call(self.control_port, "DELETE", f"/proxies/{self.name}/toxics/{toxic['name']}")

    def _toxic(self, kind: str, stream: str, **attributes: int) -> None:
        body = {"name": f"{kind}-{stream}", "type": kind, "stream": stream, "attributes": attributes}
        _call(self.control_port, "POST", f"/proxies/{self.name}/toxics", body)


@contextmanager
def toxiproxy(directory: Path, upstream: int, ports: Ports, *, port: int | None = None) -> Generator[Link]:
    """A proxy in front of a port of 127.0.0.1, ended with the block.

    Args:
        directory: for its log.
        upstream: the server's port.
        ports: gives free ones.
        port: where the proxy listens, of `ports`; by default a free one.
    """
    control, listen = ports.take(1)[0], port or ports.take(1)[0]
    server = Server(
        name="toxiproxy",
        port=control,
        directory=directory / "toxiproxy",
        command=lambda: (str(_program()), "-host", HOST, "-port", str(control)),
        prepare=lambda: None,
        probe=partial(_answers, control),
    )
    server.make_ready()
    running = Running(server, server.start(tied=True))
    try:
        running.wait()
        link = Link(control, "link", listen)
        addresses = {"listen": f"{HOST}:{listen}", "upstream": f"{HOST}:{upstream}"}
        _call(control, "POST", "/proxies", {"name": link.name, "enabled": True} | addresses)
        yield link
    finally:
        kill([running.process])


@contextmanager
def kafka_behind_proxy(directory: Path) -> Generator[tuple[Own, Link]]:
    """One broker that tells its clients to connect to the proxy: whatever they do passes through it."""
    ports = Ports()
    clients, controller, advertised = ports.take(3)
    planned = kafka_plan(directory, [BrokerPorts(clients, controller, advertised)])
    with toxiproxy(directory, clients, ports, port=advertised) as link, started(planned, ports) as cluster:
        yield cluster, link


def _program() -> Path:
    return kept(cache_directory(), f"toxiproxy-{VERSION}", _build) / "server"


def _build(directory: Path) -> None:
    go = shutil.which("go", path=f"{os.environ.get('PATH', os.defpath)}:/usr/local/go/bin")
    if go is None:
        raise RuntimeError("Go is missing, which builds toxiproxy: install it with `sudo apt-get install golang-go`")
    environment = os.environ | {"GOBIN": str(directory), "GOFLAGS": "-trimpath", "CGO_ENABLED": "0"}
    done = subprocess.run([go, "install", _MODULE], env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"`go install {_MODULE}` fails: {done.stderr[-1000:]}")


def _answers(port: int) -> bool:
    _call(port, "GET", "/version")
    return True


def _call(port: int, method: str, path: str, body: object = None) -> list[dict[str, str]]:
    """One call of toxiproxy's API; the parsed answer."""
    connection = http.client.HTTPConnection(HOST, port, timeout=10)
    try:
        connection.request(method, path, None if body is None else json.dumps(body))
        response = connection.getresponse()
        text = response.read()
        assert response.status < 300, (method, path, text)
        found: list[dict[str, str]] = json.loads(text) if path.endswith("/toxics") and method == "GET" else []
        return found
    finally:
        connection.close()
