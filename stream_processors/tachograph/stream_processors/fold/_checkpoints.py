"""What is told, stored, put away and forgotten at a checkpoint of a partition's fold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet

from tachograph.core.causality import hlc_ms
from tachograph.core.findings import Finding, Position, findings_of
from tachograph.core.state import empty
from tachograph.stream_processors.fold._limits import FoldLimits
from tachograph.stream_processors.fold._loaded import Loaded, better
from tachograph.stream_processors.fold._values import Book, Checkpoint, Open, Past

_OVER_MAX = 24
"""Times the silence after which a run is over: by then the archive must have what the snapshots lack."""

_CLOSED_MAX = 1_000
"""Runs in one checkpoint that are read again to say that they are over."""


class Checkpoints:
    """Makes the checkpoints of one partition.

    Args:
        past: snapshots and archive.
        limits: of memory, waiting and lag.
        loaded: the runs in memory, by key; changed by whoever adds records, and here.
        book: as the last checkpoint left it.
    """

    def __init__(self, past: Past, limits: FoldLimits, loaded: dict[bytes, Loaded], book: Book) -> None:
        self._past = past
        self._limits = limits
        self._loaded = loaded
        self._clock = book.clock
        self.forgotten = book.clock
        """The highest hlc of runs that nobody here knows any more; what other processes knew of is as old at most."""
        self.away: dict[str, Open] = dict(book.open)
        """Runs that are stored and not in memory: those that are not over, and some that are."""
        self.refolded = self.snapshots = self.findings = 0

    def make(self, offset: int, *, idle: bool, drain: bool) -> Checkpoint:
        """The checkpoint before the record at an offset."""
        findings: list[Finding] = []
        clock = self.read_clock()
        silent = {key: self.silence_ms(run.hlc, clock) for key, run in self._loaded.items()}
        quiet = self._crowded() | {key for key, ms in silent.items() if ms > self._limits.quiet_ms}
        due: list[Loaded] = []
        for key, run in self._loaded.items():
            rests = idle or drain or key in quiet
            if run.refolds and not drain:
                self._refold(run, offset, now=rests or run.ended)
            findings += self._tell(run, over=run.ended or silent[key] > self._limits.over_ms)
            if self._is_due(run, offset, rests=rests):
                due.append(run)
        findings += self._close(clock)
        due += self._unpin(offset, due, quiet)
        for run in due:
            run.kept, run.known, run.dirty_from = run.state.events, True, None
        for key in quiet:
            self._put_away(key, over=silent[key] > self._limits.over_ms)
        self.snapshots += len(due)
        self.findings += len(findings)
        pins = [pin for run in self._loaded.values() if (pin := run.pin) is not None]
        reached = min(pins, default=offset)
        self._forget(reached)
        return Checkpoint(tuple(findings), (), tuple(run.state for run in due), self._book(clock), reached)

    def _unpin(self, offset: int, due: Sequence[Loaded], quiet: AbstractSet[bytes]) -> list[Loaded]:
        """Let go of runs that the archive has; those that have to be stored instead.

        Of such a run all records have to be read again after a crash, or none: where others keep some of them, it waits
        for those, and is stored once it is quiet.
        """
        stored = {id(run) for run in due}
        small = {key: run for key, run in self._loaded.items() if self._is_archived(run)}
        first = offset
        for key, run in self._loaded.items():
            pin = None if key in small or (id(run) in stored and not run.waits) else run.pin
            first = first if pin is None else min(first, pin)
        straddling: list[Loaded] = []
        for key, run in small.items():
            if run.touched_at < first:
                run.dirty_from = None
            elif key in quiet:
                straddling.append(run)
        return straddling

    def _is_archived(self, run: Loaded) -> bool:
        """Whether the archive alone has it, or will: then all of its records have to be read again, or none."""
        return run.dirty_from is not None and not run.waits and run.is_small(self._limits)

    def read_clock(self) -> int:
        """The highest hlc so far."""
        self._clock = max(self._clock, max((run.hlc for run in self._loaded.values()), default=0))
        return self._clock

    def silence_ms(self, hlc: int, clock: int) -> int:
        """How far the partition has moved on since an event, in log time."""
        return hlc_ms(clock) - hlc_ms(hlc)

    def _refold(self, run: Loaded, offset: int, *, now: bool) -> None:
        if run.late_from is not None and offset - run.late_from > self._limits.behind_max:
            run.despair()
        elif now and run.refold(self._past):
            self.refolded += 1

    def _tell(self, run: Loaded, *, over: bool) -> Iterator[Finding]:
        state = run.state
        position = Position(state.events, state.hlc, over)
        if not state.events or (position == run.told and not run.tell_all):
            return
        effects = None if run.tell_all else run.folding.moved
        yield from findings_of(state, over=over, effects=effects)
        run.folding.moved.clear()
        run.told, run.tell_all = position, False

    def _is_due(self, run: Loaded, offset: int, *, rests: bool) -> bool:
        if run.dirty_from is None or not run.state.events or run.refolds or self._is_archived(run):
            return False  # what still expects something is not stored: nothing in a snapshot says what it lacks
        return rests or run.ended or run.is_grown(self._limits) or offset - run.dirty_from > self._limits.behind_max

    def _put_away(self, key: bytes, *, over: bool) -> None:
        run = self._loaded[key]
        if run.pin is not None:
            return
        del self._loaded[key]
        if run.known:
            self.away[run.state.run_id] = _open(run, over=over)
        else:
            self.forgotten = max(self.forgotten, run.hlc)

    def _forget(self, reached: int) -> None:
        """Let go of the runs that are over and of which no record lies behind the offset."""
        for run_id, run in list(self.away.items()):
            if run.over and run.last < reached:
                del self.away[run_id]
                self.forgotten = max(self.forgotten, run.hlc)

    def _crowded(self) -> frozenset[bytes]:
        """The runs that have to leave for the others: those that moved longest ago."""
        spare = self._limits.streams_max - sum(len(run.state.agents) for run in self._loaded.values())
        leaving: list[bytes] = []
        if spare < 0:
            for key, run in sorted(self._loaded.items(), key=lambda item: item[1].touched_at):
                if spare >= 0:
                    break
                leaving.append(key)
                spare += len(run.state.agents)
        return frozenset(leaving)

    def _close(self, clock: int) -> Iterator[Finding]:
        """Say of the runs that are away which of them are over without an end."""
        due = [
            run_id
            for run_id, run in self.away.items()
            if not run.over and self.silence_ms(run.hlc, clock) > self._limits.over_ms
        ]
        for run_id in due[:_CLOSED_MAX]:
            run = self.away[run_id]
            state = self._past.newest(run.tenant, run_id) or empty(run_id)
            if state.events < run.events:
                state = better(self._past, run.tenant, state) or state
            if state.events >= run.events:
                yield from findings_of(state, over=True, effects=())
            elif self.silence_ms(run.hlc, clock) < _OVER_MAX * self._limits.over_ms:
                continue  # the archive lags behind
            self.away[run_id] = run._replace(over=True)

    def _book(self, clock: int) -> Book:
        loaded = {run.state.run_id: _open(run, over=False) for run in self._loaded.values() if run.known}
        return Book(clock, self.away | loaded)


def _open(run: Loaded, *, over: bool) -> Open:
    return Open(run.tenant, run.state.hlc, run.owed, run.touched_at, over or run.ended)
