"""The service `import.airline`: tau-bench airline runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tachograph.core.ports import ImportResult, Progress
from tachograph.producers.importers._airline_rows import transcript_of
from tachograph.producers.importers._airline_run import airline
from tachograph.producers.importers._files import Row
from tachograph.producers.importers._importing import Kind, import_files
from tachograph.schemas import Fidelity


def _describe(row: Row) -> tuple[str, Mapping[str, object]]:
    transcript = transcript_of(row)
    details = {
        "task_id": transcript.task_id,
        "trial": transcript.trial,
        "reward": transcript.reward,
        "tool_calls": len(transcript.executions),
    }
    return f"airline task {transcript.task_id} trial {transcript.trial}", details


_KIND = Kind(
    name="airline",
    remedy="Give a JSON list of tau-bench rows, each with a `traj`.",
    fidelity=Fidelity.CONTROL_FLOW,
    missing=(
        "the clock: times in the log are those of the import",
        "how long calls took and in which order concurrent ones came back",
        "the model's name, version and parameters, and its token usage",
        "the tool catalogue that the model was offered",
        "receipts and idempotency keys of the effects, beyond the text that the tools answered",
        "the prompt and parameters of the model that played the user",
    ),
    entrypoint=airline,
    describe=_describe,
)


def import_airline(home: Path, files: Sequence[Path], progress: Progress, *, again: bool = False) -> ImportResult:
    """Record the rows of airline files as runs of three agents: user, service, airline.

    Raises:
        UnreadableInput: there is not one usable row in the files.
    """
    return import_files(_KIND, home, files, progress, again=again)
