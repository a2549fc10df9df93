"""Importing rows as recorded runs: read, check, record; what cannot be imported is named and the rest goes on."""

from __future__ import annotations

import asyncio
import inspect
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, cast

from tachograph.core.boundary import Run
from tachograph.core.errors import CallerError, UnreadableInput
from tachograph.core.ports import ImportResult, Progress
from tachograph.producers import Recorder
from tachograph.producers.importers._files import Row, files_under, numbered, rows_of
from tachograph.producers.importers._known import import_id_of, imported_before
from tachograph.producers.importers._rows import UnusableRow, mapping
from tachograph.schemas import Fidelity
from tachograph.stores import Home

RUNS_AT_ONCE = 8
"""More gains nothing: by then the disk's syncs are shared."""


class Entrypoint(Protocol):
    """Control logic of an imported run, public in this package."""

    __name__: str

    def __call__(self, run: Run, row: Row, /) -> Awaitable[None] | None: ...


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of file that can be imported."""

    name: str
    remedy: str
    """What a person should give."""
    fidelity: Fidelity
    missing: tuple[str, ...]
    entrypoint: Entrypoint
    """Control logic that walks a row; a replay drives it again."""
    describe: Callable[[Row], tuple[str, Mapping[str, object]]]
    """A row's run name and details; raises UnusableRow when it cannot be walked."""


@dataclass(frozen=True, slots=True)
class _Job:
    """One row to import."""

    label: str
    name: str
    import_id: str
    row: Row
    details: Mapping[str, object]


class _Intake:
    """Sorts rows into jobs and sentences about what is left out."""

    def __init__(self, kind: Kind, known: dict[str, str]) -> None:
        self._kind = kind
        self._known = known
        self.jobs: list[_Job] = []
        self.skipped: list[str] = []
        self.present = 0
        self.faults: list[UnreadableInput] = []

    def take_file(self, path: Path) -> None:
        """Take every usable row of a file."""
        try:
            rows = rows_of(path, self._kind.remedy)
            if not rows:
                raise UnreadableInput(str(path), "its list is empty", self._kind.remedy)
        except UnreadableInput as error:
            self.faults.append(error)
            self.skipped.append(str(error))
            return
        for suffix, row in numbered(rows):
            self._take(path, f"{path.name}{suffix}", row)

    def _take(self, path: Path, label: str, row: object) -> None:
        try:
            fields = mapping("it", row)
            name, details = self._kind.describe(fields)
        except UnusableRow as reason:
            self.faults.append(UnreadableInput(str(path), f"{label}: {reason}", self._kind.remedy))
            self.skipped.append(f"{label} is not imported: {reason}.")
            return
        import_id = import_id_of(self._kind.name, fields)
        if import_id in self._known:
            self.present += 1
            self.skipped.append(f"{label} is here already, as run {self._known[import_id]}; --again imports it anew.")
            return
        self._known[import_id] = f"of {label}"
        self.jobs.append(_Job(label, name, import_id, fields, details))


def import_files(kind: Kind, home: Path, files: Sequence[Path], progress: Progress, *, again: bool) -> ImportResult:
    """Record every usable row of the files.

    Raises:
        UnreadableInput: there is not one usable row.
        SpoolUnwritable: the home cannot be written.
    """
    opened = Home.open(home, create=True)
    intake = _Intake(kind, {} if again else imported_before(opened))
    for path in files_under(files):
        intake.take_file(path)
    if not intake.jobs and not intake.present:
        raise intake.faults[0] if intake.faults else UnreadableInput(str(home), "no file is given", kind.remedy)
    run_ids = asyncio.run(_record_all(kind, home, intake, progress))
    grades = Counter({kind.fidelity.value: len(run_ids)}) if run_ids else Counter[str]()
    return ImportResult(tuple(run_ids), dict(grades), tuple(intake.skipped))


async def _record_all(kind: Kind, home: Path, intake: _Intake, progress: Progress) -> list[str]:
    """Record the jobs, several at a time: while one waits for the disk, others go on."""
    run_ids: dict[int, str] = {}
    waiting = iter(enumerate(intake.jobs))
    total = len(intake.jobs)

    async def work(recorder: Recorder) -> None:
        for number, job in waiting:
            try:
                run_ids[number] = await _record(kind, recorder, job)
            except CallerError as error:
                intake.skipped.append(f"{job.label} is not imported: {error}")
            progress(len(run_ids), total, job.label)

    progress(0, total, "importing")
    with Recorder(home) as recorder:
        workers = [asyncio.ensure_future(work(recorder)) for _ in range(min(RUNS_AT_ONCE, total))]
        try:
            await asyncio.gather(*workers)
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
    progress(total, total, "imported")
    return [run_ids[number] for number in sorted(run_ids)]


async def _record(kind: Kind, recorder: Recorder, job: _Job) -> str:
    # The public name: a private module's would bind old recordings to where the code lies today.
    entrypoint = f"tachograph.producers.importers:{kind.entrypoint.__name__}"
    try:
        async with recorder.run(job.name, entrypoint=entrypoint, args=(job.row,)) as run:
            details = {"import_id": job.import_id, "row": job.label, **job.details}
            run.imported(kind.name, kind.fidelity, kind.missing, details)
            walking = kind.entrypoint(run, job.row)
            if inspect.isawaitable(walking):
                await walking
            return run.id
    except ExceptionGroup as several:
        raise _first_of(cast("Exception", several)) from several


def _first_of(error: Exception) -> Exception:
    """What a task group's error began with."""
    while isinstance(error, ExceptionGroup):
        error = cast("ExceptionGroup[Exception]", error).exceptions[0]
    return error
