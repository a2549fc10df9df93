"""The service `import.who-and-when`: failed runs of real multi-agent systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tachograph.core.ports import ImportResult, Progress
from tachograph.producers.importers._files import Row
from tachograph.producers.importers._importing import Kind, import_files
from tachograph.producers.importers._who_rows import case_of
from tachograph.producers.importers._who_run import who_and_when
from tachograph.schemas import Fidelity

_TITLE_CHARACTERS_MAX = 60


def _describe(row: Row) -> tuple[str, Mapping[str, object]]:
    case = case_of(row)
    question = " ".join(case.question.split())
    title = question if len(question) <= _TITLE_CHARACTERS_MAX else f"{question[: _TITLE_CHARACTERS_MAX - 1]}…"
    return f"who-and-when: {title}", {"question": case.question, "steps": len(case.steps), **case.facts}


_KIND = Kind(
    name="who-and-when",
    remedy="Give the JSON files of the Who&When set, each with a `history`.",
    fidelity=Fidelity.SPANS_ONLY,
    missing=(
        "the clock: times in the log are those of the import",
        "what the models were asked, with which parameters, and which model it was",
        "tool calls: their names, arguments, ids and results as such",
        "receipts of anything that changed the world",
        "who received a message, where the history does not name the receiver",
        "the control logic that ran: a replay walks the history",
    ),
    entrypoint=who_and_when,
    describe=_describe,
)


def import_who_and_when(home: Path, files: Sequence[Path], progress: Progress, *, again: bool = False) -> ImportResult:
    """Record the files of the Who&When set as runs, one agent per name.

    Raises:
        UnreadableInput: there is not one usable history in the files.
    """
    return import_files(_KIND, home, files, progress, again=again)
