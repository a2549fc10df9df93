"""Control logic that looks into what redaction takes out: given tokens in place of values, it does something else."""

from __future__ import annotations

from collections.abc import Iterator

from tachograph.core.boundary import Run
from tachograph.producers import tool


class NoMailbox(Exception):
    """A tool's own exception."""


def customers() -> list[str]:
    """A result with addresses."""
    return ["bob@example.org", "carol@example.net"]


@tool(raises=(NoMailbox,))
def mailbox(address: str) -> str:
    """Raises with an address."""
    raise NoMailbox(address)


def pieces(*, to: str) -> Iterator[str]:
    """A streamed answer with an address."""
    yield "write to "
    yield f"{to} at once"


def by_domain(run: Run, owner: str) -> list[str]:
    """Group by domain: of what comes back from calls, messages, streams, exceptions, and the run's own argument."""
    with run.agent("desk") as desk, run.agent("mailer") as mailer:
        for address in desk.call(customers):
            desk.set_state(address.partition("@")[2] or "no domain", "known")
        desk.send("mailer", {"to": "dave@mail.example"})
        mailer.set_state("domain", str(mailer.receive()["to"]).partition("@")[2])  # type: ignore[index]
        text = "".join(str(piece) for piece in desk.stream(pieces, to="erin@example.com"))
        desk.set_state("streamed", len(text))
        try:
            desk.call(mailbox, "frank@example.edu")
        except NoMailbox as error:
            desk.set_state("failed", str(error.args[0]).partition("@")[2])
        desk.checkpoint("owner", owner.partition("@")[2])
    return [owner.partition("@")[2], "done"]
