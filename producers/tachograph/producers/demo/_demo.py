"""The service `demo`: record the incident that this product began with."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tachograph.core.errors import InternalError
from tachograph.core.ports import DemoResult, Progress
from tachograph.producers import DirectoryTransport, Recorder
from tachograph.producers.demo._back_office import careful_mailer, mailer
from tachograph.producers.demo._database import CUSTOMER, FIRST_TICKET
from tachograph.producers.demo._desk import refund_desk
from tachograph.producers.demo._office import Office
from tachograph.stores import Home

_SECONDS_MAX = 30
_PACKAGE = "tachograph.producers.demo"


def record_demo(home: Path, seed: int, progress: Progress) -> DemoResult:
    """Record one run of the refund desk, the mail server failing as it does.

    Args:
        home: where to record.
        seed: varies the ticket and the letter.
        progress: told what happens.
    """
    progress(0, 3, "opening the office: database, HTTP service, mail server")
    with Office(seed, _next_ticket(home)) as office:
        progress(1, 3, "the fleet works on a ticket, in two processes")
        run_id = asyncio.run(record_fleet(home, office))
        progress(2, 3, "counting the mails of the customer")
        mails = office.mail.mails_to(CUSTOMER)
    progress(3, 3, "recorded")
    return DemoResult(run_id, mails, {_name_of(mailer): _name_of(careful_mailer)})


def _next_ticket(home: Path) -> int:
    """A number that no run of the home had: its effects are the ledger's, and would be refused."""
    return FIRST_TICKET + sum(1 for _ in Home.open(home, create=True).catalogue.runs())


def _name_of(entrypoint: Callable[..., object]) -> str:
    return f"{entrypoint.__module__}:{entrypoint.__qualname__}"


async def record_fleet(home: Path, office: Office) -> str:
    """Record the fleet at work in an office; returns the run's id."""
    entrypoint, args = f"{_PACKAGE}:refund_desk", (office.places, office.ticket)
    with Recorder(home, transport=DirectoryTransport(office.mailboxes)) as recorder:
        async with recorder.run("refund-desk", entrypoint=entrypoint, args=args) as run:
            process = _start_back_office(home, office, run.context().to_text())
            try:
                await refund_desk(run, *args)
                await asyncio.to_thread(_wait_for, process)
            finally:
                _stop(process)
        return run.id


def _start_back_office(home: Path, office: Office, context: str) -> subprocess.Popen[str]:
    task = {
        "home": str(home),
        "mailboxes": str(office.mailboxes),
        "context": context,
        "places": json.dumps(office.places),
    }
    command = [sys.executable, "-m", f"{_PACKAGE}._process", json.dumps(task)]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)


def _stop(process: subprocess.Popen[str]) -> None:
    with process:
        process.kill()


def _wait_for(process: subprocess.Popen[str]) -> None:
    try:
        _, said = process.communicate(timeout=_SECONDS_MAX)
    except subprocess.TimeoutExpired:
        raise InternalError(f"the demo's second process did not end within {_SECONDS_MAX} s") from None
    if process.returncode != 0:
        raise InternalError(f"the demo's second process ended with {process.returncode}: {said[-2000:]}")
