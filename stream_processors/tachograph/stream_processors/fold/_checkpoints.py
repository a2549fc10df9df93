"""What is told, stored, put away and forgotten at a checkpoint of a partition's fold."""

from __future__ import annotations

from collections.abc import Iterator

from tachograph.core.causality import hlc_ms
from tachograph.core.findings import Finding, Position, findings_of
from tachograph.core.state import RunState, empty
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
        self.away: dict[str, Open] = dict(book.open)
        """Runs that are stored, not over, and not in memory."""
        self.refolded = self.snapshots = self.findings = 0

    def make(self, offset: int, *, idle: bool, drain: bool) -> Checkpoint:
        """The checkpoint before the record at an offset."""
        findings: list[Finding] = []
        snapshots: list[RunState] = []
        clock = self.read_clock()
        crowded = self._crowded()
        for key, run in list(self._loaded.items()):
            silent = self.silence_ms(run.hlc, clock)
            quiet = silent > self._limits.quiet_ms or key in crowded
            if run.refolds and not drain:
                self._refold(run, offset, now=quiet or idle or run.ended)
            over = run.ended or silent > self._limits.over_ms
            findings += self._tell(run, over=over)
            if self._is_due(run, offset, quiet=quiet or idle or drain):
                snapshots.append(run.state)
                _store(run)
            if quiet and run.pin is None:
                self._put_away(key, run, over=over)
        findings += self._close(clock)
        self.snapshots += len(snapshots)
        self.findings += len(findings)
        pins = [pin for run in self._loaded.values() if (pin := run.pin) is not None]
        return Checkpoint(tuple(findings), (), tuple(snapshots), self._book(clock), min(pins, default=offset))

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

    def _is_due(self, run: Loaded, offset: int, *, quiet: bool) -> bool:
        if run.dirty_from is None or not run.state.events:
            return False
        if run.is_small(self._limits):
            run.dirty_from = None  # the archive has it
            return False
        return quiet or run.ended or run.is_grown(self._limits) or offset - run.dirty_from > self._limits.behind_max

    def _put_away(self, key: bytes, run: Loaded, *, over: bool) -> None:
        del self._loaded[key]
        if not over and run.known:
            self.away[run.state.run_id] = Open(run.tenant, run.state.hlc, run.owed)

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
        due = [run_id for run_id, run in self.away.items() if self.silence_ms(run.hlc, clock) > self._limits.over_ms]
        for run_id in due[:_CLOSED_MAX]:
            run = self.away[run_id]
            state = self._past.newest(run.tenant, run_id) or empty(run_id)
            if state.events < run.events:
                state = better(self._past, run.tenant, state) or state
            if state.events >= run.events:
                yield from findings_of(state, over=True, effects=())
            elif self.silence_ms(run.hlc, clock) < _OVER_MAX * self._limits.over_ms:
                continue  # the archive lags behind
            del self.away[run_id]

    def _book(self, clock: int) -> Book:
        opened = {
            run.state.run_id: Open(run.tenant, run.state.hlc, run.owed)
            for run in self._loaded.values()
            if run.known and not run.ended
        }
        return Book(clock, self.away | opened)


def _store(run: Loaded) -> None:
    run.kept, run.known, run.dirty_from = run.state.events, True, None
