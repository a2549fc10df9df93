"""The tool that sends mail."""

from __future__ import annotations

import asyncio
import smtplib
from collections.abc import Awaitable, Callable
from email.message import EmailMessage

from tachograph.core.boundary import Receipted, tool

_TIMEOUT_S = 10


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
