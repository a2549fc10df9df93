"""Control logic that handles what must not be written in clear: in every kind of body, in keys, in exceptions."""

from __future__ import annotations

from collections.abc import Iterator

from tachograph.core.boundary import Run
from tachograph.producers import Receipted, tool

ADDRESS = "bob.miller@example.org"
OTHER = "carol@example.net"
PASSWORD = "correct-horse-battery"
CARD = 4111111111111111
SECRETS = (ADDRESS, OTHER, PASSWORD, str(CARD))


class NoMail(Exception):
    """A tool's own exception."""


@tool(effect="write")
def send_mail(to: str) -> Receipted:
    """An effect with a secret in its receipt."""
    return Receipted({"sent": to}, receipt={"to": to, "password": PASSWORD})


def look_up(name: str) -> dict[str, object]:
    """A result with secrets."""
    return {"name": name, "mail": ADDRESS, "card": CARD, "history": ["words " * 10, f"call {OTHER}"]}


def fail(to: str) -> str:
    """Raise with a secret."""
    raise NoMail(to, {"password": PASSWORD})


def stream(*, to: str) -> Iterator[str]:
    """Pieces with secrets."""
    yield f"to {to}"
    yield "plain"


def desk(run: Run, login: dict[str, str], length: int = 0) -> str:
    """Everything that can hold a secret does."""
    with run.agent("triage") as triage, run.agent("mailer") as mailer:
        triage.set_state("customer", {"mail": ADDRESS})
        found = triage.call(look_up, "Bob")
        triage.send("mailer", {"to": found["mail"], "text": "words " * length})
        letter = mailer.receive()
        to = str(letter["to"])  # type: ignore[index]
        mailer.call(send_mail, to)
        try:
            mailer.call(fail, to)
        except NoMail:
            mailer.checkpoint("failed", {"to": to})
        triage.set_state("pieces", list(triage.stream(stream, to=to)))
        mailer.artifact("letter.txt", f"Dear {to}", media_type="text/plain")
        triage.set_state("plain", "nothing in it")
    return f"{login['user']} wrote to {ADDRESS}"
