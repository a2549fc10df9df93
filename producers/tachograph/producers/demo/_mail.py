"""The mail server of the demo, which drops its first connection at the worst moment, and the tool that sends mail."""

from __future__ import annotations

import asyncio
import smtplib
import threading
from collections.abc import Awaitable, Callable
from email import message_from_bytes
from email.message import EmailMessage
from typing import Protocol, Self

from tachograph.core.boundary import Receipted, tool
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
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="mail-sink", daemon=True)
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
        self._thread.start()
        self._server = asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result(_TIMEOUT_S)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    def __exit__(self, *exception: object) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result(_TIMEOUT_S)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _listen(self) -> asyncio.Server:
        return await self._loop.create_server(self._protocol, "127.0.0.1", 0)

    def _protocol(self) -> asyncio.Protocol:
        try:
            from aiosmtpd.smtp import SMTP
        except ImportError as error:
            raise InvalidSetting(
                "demo",
                "aiosmtpd",
                "the mail server of the demo needs it; install it with `pip install 'tachograph[demo]'`",
            ) from error
        self.connections += 1
        return SMTP(self, hostname="desk.example", loop=self._loop)

    async def _stop(self) -> None:
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)


def mail_under(key: str, port: int) -> Callable[[str, str, str], Awaitable[Receipted]]:
    """The tool that sends a mail, under an idempotency key."""

    @tool(
        name="send_mail",
        effect="write",
        idempotency_key=lambda *_: key,
        failed=(smtplib.SMTPRecipientsRefused, smtplib.SMTPSenderRefused),
        raises=(smtplib.SMTPServerDisconnected,),
    )
    async def send_mail(customer: str, subject: str, text: str) -> Receipted:
        message = EmailMessage()
        message["From"] = "refunds@desk.example"
        message["To"] = f"{customer}@customers.example"
        message["Subject"] = subject
        message.set_content(text)
        await asyncio.to_thread(_send, port, message)
        return Receipted("sent", {"accepted_by": "desk.example"})

    return send_mail


def _send(port: int, message: EmailMessage) -> None:
    with smtplib.SMTP("127.0.0.1", port, local_hostname="desk.example", timeout=_TIMEOUT_S) as server:
        server.send_message(message)
