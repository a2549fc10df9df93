"""The desk's HTTP service, exchange rates and approvals, and the tools that call it."""

from __future__ import annotations

import asyncio
import http.client
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self, cast

from tachograph.core.boundary import tool
from tachograph.core.errors import StoreUnavailable

_TIMEOUT_S = 10
_APPROVED_AT_US = 1_772_000_000_000_000
_VALID_FOR_US = 3_600_000_000
_RATES = {"/rates/USD": 0.86, "/rates/GBP": 1.15}


class DeskService:
    """An HTTP service on a free port of the loopback interface; a context manager that counts its requests."""

    def __init__(self) -> None:
        self.requests = 0
        """How many requests it has answered."""
        service = self

        class Handler(_Handler):
            desk = service

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.02,), name="desk-service", daemon=True
        )

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int(self._server.server_address[1])

    def answer(self, method: str, path: str, request: object) -> tuple[int, object]:
        """Status and body for a request."""
        self.requests += 1
        if method == "GET" and path in _RATES:
            return 200, {"rate": _RATES[path]}
        if method == "POST" and path == "/approvals":
            return 200, {
                "approver": "supervisor-2",
                "granted": True,
                "decided_at": _APPROVED_AT_US,
                "expires_at": _APPROVED_AT_US + _VALID_FOR_US,
                "action": request,
            }
        return 404, {"error": f"nothing at {path}"}

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Handler(BaseHTTPRequestHandler):
    desk: DeskService

    def do_GET(self) -> None:
        self._reply(None)

    def do_POST(self) -> None:
        self._reply(json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0)))))

    def _reply(self, request: object) -> None:
        status, answer = self.desk.answer(self.command, self.path, request)
        data = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 the base class's name
        """Say nothing."""


@tool(effect="read")
async def exchange_rate(port: int, currency: str) -> float:
    """How many euros one unit of a currency is."""
    answer = await asyncio.to_thread(_request, port, "GET", f"/rates/{currency}", None)
    return cast("float", answer["rate"])


async def ask_supervisor(port: int, action: dict[str, object]) -> dict[str, object]:
    """Have an action approved."""
    return await asyncio.to_thread(_request, port, "POST", "/approvals", action)


def _request(port: int, method: str, path: str, body: object) -> dict[str, object]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_TIMEOUT_S)
    try:
        connection.request(method, path, None if body is None else json.dumps(body))
        response = connection.getresponse()
        answer = json.loads(response.read())
    finally:
        connection.close()
    if response.status != 200:
        raise StoreUnavailable("desk service", f"{method} {path} gave status {response.status}")
    return cast("dict[str, object]", answer)
