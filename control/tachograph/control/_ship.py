"""`tacho ship`: carry to the cluster what dead processes left in a home."""

from __future__ import annotations

import argparse
from pathlib import Path

from tachograph.control._answer import Answer, Document
from tachograph.control._exit import ExitCode
from tachograph.control._parser import Commands, add_command
from tachograph.control._progress import progress
from tachograph.control._screen import Screen, Span
from tachograph.control._services import ship_service
from tachograph.control._settings import Settings
from tachograph.core.errors import InvalidSetting
from tachograph.core.ports import Shipped


def register(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(commands, "ship", "carry to the cluster what dead processes left in a home", _ship)
    parser.add_argument("directory", nargs="?", metavar="DIR", help="the home (default: that of --home)")
    parser.add_argument("--seconds-max", type=float, metavar="N", help="give up after so long (default: never)")


def _ship(arguments: argparse.Namespace, settings: Settings) -> Answer:
    if arguments.directory == "":
        raise InvalidSetting("DIR", "", "name a directory, or leave it out for the home")
    seconds_max: float | None = arguments.seconds_max
    if seconds_max is not None and not seconds_max > 0:
        raise InvalidSetting(
            "--seconds-max", seconds_max, "it must be above 0; leave it out to wait for as long as it takes"
        )
    home = settings.home if arguments.directory is None else Path(str(arguments.directory))
    with progress("ship") as shown:
        done = ship_service()(home, seconds_max, shown)
    document: dict[str, Document] = {
        "events": done.events,
        "bodies": done.bodies,
        "stuck": done.stuck,
        "waiting_bytes": done.waiting_bytes,
        "spools": done.spools,
        "reason": done.reason,
        "removed": done.removed,
    }
    code = ExitCode.OK if done.is_complete and not done.stuck else ExitCode.LIMITED
    return Answer(document, lambda screen: _render(screen, done, home), code)


def _render(screen: Screen, done: Shipped, home: Path) -> None:
    if done.removed:
        screen.line(f"{done.removed} spools removed: shipped long enough ago, and in the archive")
    if not done.spools:
        screen.line("Nothing is left to ship.")
        return
    screen.line(f"{done.events} events and {done.bodies} bodies of {done.spools} spools shipped")
    if done.stuck:
        screen.line(
            "  ",
            Span("stuck    ", "bad"),
            f"{done.stuck}, named in {home}/log/SPOOL/stuck.jsonl; tried again next time",
        )
    if not done.is_complete:
        why = done.reason or "somebody else ships them right now"
        screen.line("  ", Span("waiting  ", "warn"), f"{done.waiting_bytes} bytes: {why}")
