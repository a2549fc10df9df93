"""Asking for what redaction took out: by whom and why, told to the home's audit log."""

from __future__ import annotations

import argparse
import getpass
from dataclasses import dataclass

from tachograph.control._errors import UsageError
from tachograph.core.redaction import DEFAULT_POLICY
from tachograph.stores import Access, Home


@dataclass(frozen=True, slots=True)
class Asked:
    """Who wants to see raw bodies, and why."""

    who: str
    reason: str

    def tell(self, home: Home, what: str, outcome: str) -> None:
        """Add to the audit log what became of it.

        Args:
            home: whose log.
            what: id of the event, or of the run.
            outcome: as in `Access`.

        Raises:
            StoreUnavailable: it cannot be written; nothing may be shown then.
        """
        reason = DEFAULT_POLICY.redact_text(self.reason, home.digester)
        home.audit.append(Access(self.who, what, reason, outcome))


def add_raw_options(parser: argparse.ArgumentParser, help_text: str) -> None:
    """Add `--raw` and what belongs to it."""
    parser.add_argument("--raw", action="store_true", help=help_text)
    parser.add_argument("--reason", metavar="TEXT", help="why raw bodies are needed; kept in the home's audit log")
    parser.add_argument("--by", metavar="NAME", help="who needs them (default: the user of this machine)")


def asked_of(arguments: argparse.Namespace) -> Asked | None:
    """What was asked for; None: nothing raw.

    Raises:
        UsageError: without a reason nothing raw is shown, and a reason alone asks for nothing.
    """
    usage = f"See `tacho {arguments.command} --help`."
    reason = str(arguments.reason or "").strip()
    if not arguments.raw:
        if reason:
            problem = "--reason is for --raw"
            raise UsageError(problem, usage)
        return None
    if not reason:
        problem = "--raw needs --reason TEXT: it is kept in the home's audit log"
        raise UsageError(problem, usage)
    return Asked(str(arguments.by or getpass.getuser()), reason)
