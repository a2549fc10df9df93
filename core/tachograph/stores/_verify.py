"""Verifying a home: every byte of its log, every event against the others, every body."""

from __future__ import annotations

import itertools
from collections.abc import Container, Iterator, Sequence

from tachograph.core.errors import StoreUnavailable, UnknownRun
from tachograph.core.ports import Progress
from tachograph.stores._bodies import BodyCheck
from tachograph.stores._chain import Chains
from tachograph.stores._damaged import name_damaged
from tachograph.stores._findings import Finding, FindingKind, VerifyReport
from tachograph.stores._home import Home
from tachograph.stores._index import Range, ScanningIndex
from tachograph.stores._piece import SegmentPiece, Task
from tachograph.stores._pieces import pieces_of
from tachograph.stores._segments import Spool, SpoolState, read_segment, segment_size
from tachograph.stores._spool import segment_name
from tachograph.stores._verify_archive import ArchiveCheck, runs_of
from tachograph.stores._verify_events import EventCheck
from tachograph.stores._verify_raw import RawCheck
from tachograph.stores._verify_retired import RetiredCheck
from tachograph.stores._verify_segment import SegmentCheck
from tachograph.stores._verify_spools import KnownSegments, check_closing, check_numbers, check_presence


def _silent(done: int, total: int, what: str) -> None:
    del done, total, what


def verify_home(home: Home, run_ids: Sequence[str] | None = None, progress: Progress = _silent) -> VerifyReport:
    """Check everything that can be checked: frames, seals, hash chains, causes, sequence numbers, bodies.

    What is wrong is told, never mended, and nothing is written. Processes may go on recording meanwhile.

    Args:
        home: what to verify.
        run_ids: the runs to verify, with the segments they lie in; None: everything.
        progress: called before each segment and on the way through the bodies.

    Raises:
        UnknownRun: a run to verify is not there.
        StoreUnavailable: the operating system refuses to give the bytes.
    """
    return _Verification(home, run_ids, progress).run()


class _Verification:
    def __init__(self, home: Home, run_ids: Sequence[str] | None, progress: Progress) -> None:
        self._home = home
        self._progress = progress
        self._findings: list[Finding] = []
        self._chains = Chains()
        self._bodies = BodyCheck(home.objects, home.digester)
        self._events = EventCheck(self._chains, self._bodies, None if run_ids is None else frozenset(run_ids))
        self._raw = RawCheck(home, run_ids)
        self._retired = RetiredCheck(home.path / "log")
        self._archive = None if home.archive is None else ArchiveCheck(home.archive, self._bodies, run_ids)
        self._wanted = None if run_ids is None else _segments_of(home, run_ids, self._archive or ())
        self._segments = self._total = 0

    def run(self) -> VerifyReport:
        known = _known_segments(self._home)
        spools = self._home.log.spools()
        tasks = {spool.name: [self._task(spool, number) for number in self._numbers(spool)] for spool in spools}
        self._total = sum(map(len, tasks.values()))
        pieces = self._pieces([task for group in tasks.values() for task in group])
        for spool in spools:
            self._check_spool(spool, tasks[spool.name], pieces)
        if self._wanted is None:
            self._findings += check_presence(self._home.path / "log", spools, known)
            self._findings += self._retired.findings
        if self._archive is not None:
            self._archive.run(lambda done, of: self._progress(done, of, "archived runs"))
            self._chains.settle(self._archive.chains)
        named = name_damaged(self._events.damaged, self._chains)
        self._findings += named
        damaged = frozenset(finding.event_id for finding in named if finding.event_id is not None)
        self._chains.finish(_Either(damaged, self._retired))
        runs = {run_id for run_id, _, _ in self._chains.streams}
        if self._archive is not None:
            self._findings += self._archive.findings()
            self._findings += self._retired.lost(self._archive.chains.streams) if self._wanted is None else ()
            runs.update(self._archive.run_ids)
        self._bodies.finish(lambda done, of: self._progress(done, of, "bodies"))
        self._raw.run(lambda done, of: self._progress(done, of, "raw bodies"))
        self._findings += [*self._events.findings, *self._chains.findings, *self._bodies.findings, *self._raw.findings]
        self._findings += self._events.truncated()
        self._findings += list(self._events.state.findings(self._chains.streams, runs_of(self._findings)))
        return VerifyReport(
            tuple(sorted(self._findings, key=_order)),
            self._events.count + (0 if self._archive is None else self._archive.count),
            self._bodies.count,
            self._segments,
            len(runs),
            self._raw.count,
        )

    def _numbers(self, spool: Spool) -> Sequence[int]:
        if self._wanted is None:
            return spool.numbers
        return [number for number in spool.numbers if (spool.name, number) in self._wanted]

    def _task(self, spool: Spool, number: int) -> Task:
        file = spool.path / segment_name(number)
        early = number == spool.numbers[-1] and spool.state is not SpoolState.CLOSED
        return Task(file, f"log/{spool.name}/{file.name}", spool.name, number, early)

    def _pieces(self, tasks: Sequence[Task]) -> Iterator[SegmentPiece | None]:
        """The quick look at whole segments; single runs are picked out of theirs with care."""
        return pieces_of(tasks, self._home.digester) if self._wanted is None else itertools.repeat(None)

    def _check_spool(self, spool: Spool, tasks: Sequence[Task], pieces: Iterator[SegmentPiece | None]) -> None:
        self._chains.alive = spool.state is SpoolState.OPEN
        seals: dict[int, bytes | None] = {}
        previous: dict[int, bytes | None] = {}
        is_gone = False
        for task, piece in zip(tasks, pieces, strict=False):
            self._progress(self._segments, self._total, "segments")
            look = None if is_gone else self._look(spool, task, piece)
            if look is None:
                is_gone = True
                continue
            seals[task.number], previous[task.number] = look.seal, look.previous_seal
            self._segments += 1
        if self._wanted is None and not is_gone:
            self._findings += check_numbers(spool)
            self._findings += check_closing(spool, seals, previous)

    def _look(self, spool: Spool, task: Task, piece: SegmentPiece | None) -> SegmentPiece | SegmentCheck | None:
        """A segment; None where its spool was removed meanwhile."""
        if piece is not None and self._events.join(piece):
            return piece
        try:
            return self._check_segment(spool, task)
        except StoreUnavailable:
            if self._retired.holds(spool.name):
                return None
            raise

    def _check_segment(self, spool: Spool, task: Task) -> SegmentCheck:
        data = read_segment(task.file, 0, segment_size(task.file))
        check = SegmentCheck(task.path, task.spool, task.number, data, may_end_early=task.may_end_early)
        self._events.check(check)
        self._findings += check.findings
        if check.torn is not None and spool.state is not SpoolState.OPEN:
            self._findings.append(check.torn)
        return check


class _Either:
    """What is in one of two."""

    def __init__(self, one: Container[str], other: Container[str]) -> None:
        self._one, self._other = one, other

    def __contains__(self, item: object) -> bool:
        return isinstance(item, str) and (item in self._one or item in self._other)


def _known_segments(home: Home) -> KnownSegments:
    """What the catalogue has read; a catalogue that cannot be read is no reason not to verify."""
    try:
        return home.own_catalogue.known_segments()
    except StoreUnavailable:
        return {}


def _segments_of(home: Home, run_ids: Sequence[str], archived: Container[str]) -> frozenset[tuple[str, int]]:
    index = ScanningIndex(home.path / "log")
    found: set[tuple[str, int]] = set()
    for run_id in run_ids:
        ranges = _ranges(home, index, run_id)
        if not ranges and run_id not in archived:
            raise UnknownRun(run_id, str(home.path))
        found.update((part.spool, part.number) for part in ranges)
    return frozenset(found)


def _ranges(home: Home, index: ScanningIndex, run_id: str) -> Sequence[Range]:
    try:
        return home.own_catalogue.ranges(run_id)
    except StoreUnavailable:
        return index.ranges(run_id)


def _order(finding: Finding) -> tuple[bool, str, int, FindingKind]:
    return finding.severity == "warning", finding.path, finding.offset, finding.kind
