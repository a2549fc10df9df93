"""A server in a process of its own that takes what an exporter posts and keeps nothing: its CPU is nobody's figure."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class _Sink(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # an exporter keeps its connection

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 the base class's name
        pass


def sink() -> str:
    """Start one that ends with this process; gives its URL."""
    server = subprocess.Popen(
        [sys.executable, "-m", __name__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    _alive.append(server)
    assert server.stdout is not None
    return server.stdout.readline().strip()


_alive: list[subprocess.Popen[str]] = []
"""Held, so that the pipe to each stays open as long as this process lives, however it ends."""


def _serve() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Sink)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    _serve()
