"""Whether a processor is alive: liveness means progress, looked at from a thread of its own."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final

from prometheus_client import CollectorRegistry, generate_latest

from tachograph.core.errors import InvalidSetting
from tachograph.stream_processors._sources import monotonic_s

_LOG: Final = logging.getLogger("tachograph.processors")

EXIT_STALLED: Final = 75
"""EX_TEMPFAIL: whoever supervises the process starts it again."""

_LOOKS: Final = 10
"""How often it is looked within the time without progress that is allowed."""


@dataclass(frozen=True, slots=True)
class StatusAddress:
    """Where `/healthz` and `/metrics` are answered."""

    host: str = "127.0.0.1"
    port: int = 0
    """0: any free one."""


class Watchdog:
    """Ends the process when it no longer makes progress.

    Args:
        seconds: without progress that are allowed.
        stuck: names the partitions that hold records and have not moved for so many seconds.
        on_stalled: what to do then.
    """

    def __init__(
        self, seconds: float, stuck: Callable[[float], list[str]], on_stalled: Callable[[], None] | None = None
    ) -> None:
        self._seconds = seconds
        self._stuck = stuck
        self._on_stalled = on_stalled if on_stalled is not None else lambda: os._exit(EXIT_STALLED)
        self._beaten_s = monotonic_s()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="tacho-watchdog", daemon=True)

    def start(self) -> None:
        """Watch from now on."""
        self.beat()
        self._thread.start()

    def beat(self) -> None:
        """Something was done."""
        self._beaten_s = monotonic_s()

    def fault(self) -> str | None:
        """Why the process is not alive; None where it is."""
        idle = monotonic_s() - self._beaten_s
        if idle >= self._seconds:
            return f"nothing was done for {idle:.0f} s"
        stuck = self._stuck(self._seconds)
        return f"{', '.join(stuck)} did not move for {self._seconds:.0f} s" if stuck else None

    def stop(self) -> None:
        """Watch no more."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()

    def _watch(self) -> None:
        while not self._ended.wait(self._seconds / _LOOKS):
            fault = self.fault()
            if fault is not None:
                _LOG.critical("tachograph: the processor makes no progress and ends: %s", fault)
                self._on_stalled()
                return


class StatusServer:
    """Answers `/healthz` and `/metrics`.

    Args:
        host: to listen at.
        port: 0: any free one.
        fault: why the process is not alive; None where it is.
        registry: of the metrics.

    Raises:
        InvalidSetting: nothing can listen there.
    """

    def __init__(self, host: str, port: int, fault: Callable[[], str | None], registry: CollectorRegistry) -> None:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                reason = fault()
                answers = {
                    "/healthz": (200 if reason is None else 503, (reason or "ok").encode() + b"\n", "text/plain"),
                    "/metrics": (200, b"", "text/plain; version=0.0.4; charset=utf-8"),
                }
                status, body, kind = answers.get(self.path, (404, b"not found\n", "text/plain"))
                body = generate_latest(registry) if self.path == "/metrics" else body
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 as http.server names it
                """Say nothing: probes come every few seconds."""

        try:
            self._server = ThreadingHTTPServer((host, port), Handler)
        except OSError as error:
            reason = f"nothing can listen there ({error.strerror}); give a free port, and a host of this machine"
            raise InvalidSetting("metrics address", f"{host}:{port}", reason) from error
        self._thread = threading.Thread(target=self._server.serve_forever, name="tacho-status", daemon=True)

    @property
    def port(self) -> int:
        """Where it listens."""
        return self._server.server_port

    def start(self) -> None:
        """Answer from now on."""
        self._thread.start()

    def stop(self) -> None:
        """Answer no more."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
