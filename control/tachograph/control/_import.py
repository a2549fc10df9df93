"""`tacho import`: bring public transcripts and exported runs in as runs, with the fidelity that they have."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from tachograph.control._answer import Answer, Document
from tachograph.control._bundle import import_bundles
from tachograph.control._exit import ExitCode
from tachograph.control._parser import Commands, add_command
from tachograph.control._progress import progress
from tachograph.control._screen import Screen, Span
from tachograph.control._services import import_service
from tachograph.control._settings import Settings
from tachograph.core.errors import InvalidSetting
from tachograph.core.ports import ImportResult

BUNDLE = "bundle"
SOURCES = ("airline", "who-and-when", BUNDLE)


def register(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(commands, "import", "bring recorded runs from elsewhere", _import)
    parser.add_argument("source", choices=SOURCES, help="what the files are; `bundle`: what `tacho export` wrote")
    parser.add_argument("files", nargs="+", metavar="FILE", help="files to read")
    parser.add_argument("--again", action="store_true", help="import what this home has already, as new runs")


def _import(arguments: argparse.Namespace, settings: Settings) -> Answer:
    named: Sequence[str] = arguments.files
    files, again = [Path(name) for name in named], bool(arguments.again)
    with progress("import") as shown:
        if arguments.source != BUNDLE:
            result = import_service(str(arguments.source))(settings.home, files, shown, again=again)
        elif again:
            raise InvalidSetting("--again", again, "an exported run keeps its id, it cannot be here twice")
        else:
            result = import_bundles(settings.home, files, shown)
    document: dict[str, Document] = {
        "run_ids": list(result.run_ids),
        "fidelity": dict(result.fidelity),
        "skipped": list(result.skipped),
    }
    code = ExitCode.OK if result.run_ids or not result.skipped else ExitCode.LIMITED
    return Answer(document, lambda screen: _render(screen, result), code)


def _render(screen: Screen, result: ImportResult) -> None:
    grades = ", ".join(f"{count} {grade}" for grade, count in sorted(result.fidelity.items()))
    screen.line(f"{len(result.run_ids)} runs imported", f" ({grades})" if grades else "")
    for sentence in result.skipped:
        screen.line("  ", Span("skipped  ", "warn"), sentence)
    if result.run_ids:
        screen.line("Look at them with `tacho runs`, replay them with `tacho replay --all`.")
