"""The real parts of the demo: database, HTTP service and mail server, all of them on this machine and gone at the end."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Self

from tachograph.producers.demo._database import FIRST_TICKET, create_database
from tachograph.producers.demo._mail_server import MailSink
from tachograph.producers.demo._places import Places
from tachograph.producers.demo._service import DeskService


class Office:
    """A context manager around everything outside of the fleet.

    Args:
        seed: varies what the ticket is about.
        number: of the ticket: what was done for one is never done again in a home.
    """

    def __init__(self, seed: int, number: int = FIRST_TICKET) -> None:
        self._seed = seed
        self.ticket = f"T-{number}"
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self.directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="refund-desk-")))
            self.service = stack.enter_context(DeskService())
            self.mail = stack.enter_context(MailSink())
            create_database(self.directory / "desk.db", self._seed, self.ticket)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *exception: object) -> None:
        self._stack.close()

    @property
    def places(self) -> Places:
        """Where the fleet finds the parts."""
        return Places(
            database=str(self.directory / "desk.db"),
            service_port=self.service.port,
            mail_port=self.mail.port,
            seed=self._seed,
        )

    @property
    def mailboxes(self) -> Path:
        """Where the fleet's two processes leave messages for each other."""
        return self.directory / "mailboxes"

    @property
    def visits(self) -> int:
        """Requests and connections so far: a replay must not add one."""
        return self.service.requests + self.mail.connections
