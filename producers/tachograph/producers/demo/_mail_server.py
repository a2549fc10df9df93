"""The demo's mail server, which drops its first connection at the worst moment."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from email import message_from_bytes
from typing import Protocol, Self

from tachograph.core.errors import InvalidSetting

_TIMEOUT_S = 10


class _Connection(Protocol):
    """What the sink needs of the server's side of a connection."""

    transport: asyncio.Transport


class _Envelope(Protocol):
    rcpt_tos: list[str]
    content: bytes


class MailSink:
    """An SMTP server on a free port of the loopback interface; a context manager that keeps what it accepts.

    It accepts the first mail and drops the connection before it says so: the mail is there, and the sender gets an
    error. That is rare, and it is what networks do.
    """

    def __init__(self) -> None:
        self.mails: list[tuple[str, str]] = []
        """Recipient and subject of every mail accepted."""
        self.connections = 0
        self.port = 0
        """The port it listens on, once it is entered."""
        self._server: asyncio.Server | None = None

    async def handle_DATA(self, server: _Connection, session: object, envelope: _Envelope) -> str:  # noqa: N802 aiosmtpd's signature
        """Accept a mail."""
        subject = str(message_from_bytes(envelope.content)["Subject"])
        self.mails += [(recipient, subject) for recipient in envelope.rcpt_tos]
        if len(self.mails) == 1:
            server.transport.abort()
            await asyncio.Event().wait()  # cancelled, the connection being lost
        return "250 OK"

    def mails_to(self, customer: str) -> int:
        """How many mails a customer has."""
        return sum(recipient.startswith(f"{customer}@") for recipient, _ in self.mails)

    def __enter__(self) -> Self:
        smtp = _smtp_protocol()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="mail-sink", daemon=True)
        self._thread.start()
        listening = self._loop.create_server(self._connections(smtp), "127.0.0.1", 0)
        self._server = asyncio.run_coroutine_threadsafe(listening, self._loop).result(_TIMEOUT_S)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    def __exit__(self, *exception: object) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result(_TIMEOUT_S)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _connections(self, smtp: Callable[..., asyncio.Protocol]) -> Callable[[], asyncio.Protocol]:
        def connection() -> asyncio.Protocol:
            self.connections += 1
            return smtp(self, hostname="desk.example", loop=self._loop)

        return connection

    async def _stop(self) -> None:
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)


def _smtp_protocol() -> Callable[..., asyncio.Protocol]:
    try:
        from aiosmtpd.smtp import SMTP
    except ImportError as error:
        remedy = "the demo's mail server needs it; install it with `pip install 'tachograph[demo]'`"
        raise InvalidSetting("demo", "aiosmtpd", remedy) from error
    return SMTP
