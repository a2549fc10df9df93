"""The fold of one partition, without any I/O of its own: records go in, checkpoints come out."""

from __future__ import annotations

from dataclasses import replace

from tachograph.core.causality import HoldBackFull, check_id
from tachograph.core.errors import EvidenceBroken, InvalidIdentifier
from tachograph.core.state import Folding, RunState, Taken, empty
from tachograph.schemas import ROOT_AGENT_ID, EventMeta, decode_meta
from tachograph.stream_processors.fold._checkpoints import Checkpoints
from tachograph.stream_processors.fold._held import Held, Item
from tachograph.stream_processors.fold._limits import FoldLimits
from tachograph.stream_processors.fold._loaded import Loaded, folded
from tachograph.stream_processors.fold._values import Book, Checkpoint, FoldStatistics, Past, Poison

_FOLDED = Taken.FOLDED

TENANT_CHARACTERS_MAX = 200
"""Percent-encoded it must fit into an object's name, which has 1,024 bytes."""

_RECORDS_MIN = 1_000
"""Between two checkpoints that are asked for because memory is full."""


class FoldStep:
    """Folds the records of one partition into their runs' states.

    What it adds up to does not depend on how often it is ended and begun anew: `Checkpoint.offset` lies before
    everything that is not in a snapshot or the archive. A stream's event that comes before its predecessor waits; where too many
    wait, they are folded with the gap, and the run is folded from the archive again when that has what was missing.

    Memory: the runs that moved in the last minute of log time, up to a number of streams, and events that wait, up to a
    number of bytes (`FoldLimits`); beside that a line for each run that is not over.

    Args:
        past: snapshots and archive.
        limits: of memory, waiting and lag.
        book: as the last checkpoint left it; None for a partition that nobody folded yet.
    """

    def __init__(self, past: Past, limits: FoldLimits | None = None, book: Book | None = None) -> None:
        self._past = past
        self._limits = limits = limits or FoldLimits()
        self._loaded: dict[bytes, Loaded] = {}
        self._poison: list[Poison] = []
        self._checkpoints = Checkpoints(past, limits, self._loaded, book or Book())
        self._held_bytes = 0
        self._next = self._checked = 0
        self._count = self._poisoned = self._gaps = self._restored = 0

    def add(self, offset: int, key: bytes | None, payload: bytes, tenant: bytes | None = None) -> bool:
        """Take a record in; offsets only grow. Returns whether it is an event: else it is set aside.

        Args:
            offset: of the record.
            key: of the record: the run's id.
            payload: the event.
            tenant: whose the record says it is; None: it does not say.

        Raises:
            StoreUnavailable: the run's past cannot be read; adding the record again tries again.
        """
        run = self._loaded.get(key or b"")
        try:
            if run is None:
                run = self._load(key or b"", payload, offset, tenant)
            elif tenant is not None and tenant != run.tenant.encode():
                raise _Misplaced(f"the record says tenant {tenant!r}, its run is of {run.tenant!r}")
            run.touched_at = offset
            if run.folding.add(payload) is not _FOLDED:
                self._odd(run, offset, payload)
            else:
                if run.refolds:
                    run.came(offset)
                if run.dirty_from is None:
                    run.dirty_from = offset
                if run.held:
                    self._follow(run, run.held, decode_meta(payload))
        except EvidenceBroken as error:
            self.refuse(offset, str(error))
            return False
        self._next = offset + 1
        self._count += 1
        return True

    def refuse(self, offset: int, reason: str) -> None:
        """Set a record aside that is no event."""
        self._poison.append(Poison(offset, reason))
        self._poisoned += 1
        self._next = offset + 1

    @property
    def wants_checkpoint(self) -> bool:
        """Whether what it holds should not grow before the next checkpoint."""
        if len(self._poison) >= self._limits.poison_max:
            return True
        return len(self._loaded) > self._limits.streams_max and self._count - self._checked >= _RECORDS_MIN

    def checkpoint(self, *, idle: bool = False, drain: bool = False) -> Checkpoint:
        """What is to be done now; all of it, before the next record is added.

        Args:
            idle: no records come at the moment: runs are stored as if they were quiet, and what waits is folded over the gap.
            drain: the partition goes to somebody else, or the process ends.
        """
        self._give_up_stale(idle=idle)
        self._checked = self._count
        made = self._checkpoints.make(self._next, idle=idle, drain=drain)
        self._held_bytes = sum(run.held.bytes for run in self._loaded.values() if run.held)
        poison, self._poison = tuple(self._poison), []
        return replace(made, poison=poison)

    def statistics(self) -> FoldStatistics:
        """Counters so far."""
        done = self._checkpoints
        return FoldStatistics(
            folded=self._count,
            poison=self._poisoned,
            loaded=len(self._loaded),
            away=sum(not run.over for run in done.away.values()),
            held=sum(len(run.held) for run in self._loaded.values() if run.held),
            pending=sum(run.pin is not None for run in self._loaded.values()),
            gaps=self._gaps,
            restored=self._restored,
            refolded=done.refolded,
            snapshots=done.snapshots,
            findings=done.findings,
        )

    def states(self) -> dict[str, RunState]:
        """The states in memory, by run."""
        return {run.state.run_id: run.state for run in self._loaded.values()}

    # -- runs that are met

    def _load(self, key: bytes, payload: bytes, offset: int, tenant: bytes | None) -> Loaded:
        meta = decode_meta(payload)
        if tenant is not None and tenant != meta.tenant.encode():
            raise _Misplaced(f"the record says tenant {tenant!r}, its event {meta.tenant!r}")
        if meta.run_id.encode() != key:
            raise _Misplaced(f"it is an event of the run {meta.run_id!r}, but its key is {key!r}")
        _check(meta)
        away = self._checkpoints.away.get(meta.run_id)
        folding = Folding(empty(meta.run_id), tenant=meta.tenant)
        run = Loaded(meta.tenant, folding, touched_at=offset, heard=meta.hlc, known=away is not None)
        if away is not None or not _begins(meta):
            run.wanted, run.wanted_at = (None, 0) if away is None else (away.events, away.last)
            self._restore(run, meta)
        elif meta.hlc <= self._checkpoints.forgotten:
            run.wanted = None
            self._doubt(run, meta)
        self._checkpoints.away.pop(meta.run_id, None)
        self._loaded[key] = run
        return run

    def _restore(self, run: Loaded, meta: EventMeta) -> None:
        """Take up what is stored of a run. What is missing then is in the archive, or will be: it may lag behind."""
        state = self._past.newest(meta.tenant, meta.run_id)
        if state is not None:
            run.kept, run.known = state.events, True
            self._restored += 1
        else:
            state = folded(self._past, meta.tenant, meta.run_id)
            run.tell_all = True
        if state is not None:
            run.folding = Folding(state, tenant=meta.tenant)
        if run.wanted is None or run.state.events < run.wanted:
            run.expect(run.touched_at, self._limits.refolds_max)

    def _doubt(self, run: Loaded, meta: EventMeta) -> None:
        """A first event that may have come before: the run was perhaps folded, found to be in the archive, and forgotten."""
        if self._past.archived(meta.tenant, meta.run_id):
            self._restore(run, meta)
        else:
            run.expect(run.touched_at, self._limits.refolds_max)

    # -- events that are not their stream's next

    def _odd(self, run: Loaded, offset: int, payload: bytes) -> None:
        meta = decode_meta(payload)
        agent = run.state.agents.get((meta.agent_id, meta.incarnation))
        at = 0 if agent is None else agent.seq
        if meta.run_id != run.state.run_id or meta.tenant != run.tenant:
            raise _Misplaced(
                f"it is an event of the run {meta.run_id!r} of tenant {meta.tenant!r}, "
                f"but its key is that of {run.state.run_id!r} of tenant {run.tenant!r}"
            )
        run.heard = max(run.heard, meta.hlc)
        if meta.seq > at:
            Folding(empty(meta.run_id)).add(payload, over_gaps=True)  # what cannot be folded must not wait
            self._hold(run, meta, at, Item(offset, payload))
        elif run.gap_in(meta.agent_id, meta.incarnation, meta.seq):
            run.expect(offset, self._limits.refolds_max)

    def _hold(self, run: Loaded, meta: EventMeta, at: int, item: Item) -> None:
        held = run.held = run.held or Held(self._limits.held_max)
        before = held.bytes
        try:
            held.wait(meta, at, item.offset, item.payload)
        except HoldBackFull:
            run.came(item.offset)
            self._over_gaps(run, [item])
            return
        if held.bytes > before:
            run.came(item.offset)
        self._held_bytes += held.bytes - before
        if self._held_bytes > self._limits.held_bytes_max:
            self._over_gaps(run, [])

    def _follow(self, run: Loaded, held: Held, meta: EventMeta) -> None:
        before = held.bytes
        for payload in held.follow(meta):
            run.folding.add(payload)
        self._held_bytes += held.bytes - before

    def _over_gaps(self, run: Loaded, more: list[Item]) -> None:
        """Wait no longer: fold what is there, every stream's in order."""
        held = run.held
        assert held is not None
        self._held_bytes -= held.bytes
        items = sorted([*held.give_up(), *more], key=_stream_order)
        for item in items:
            run.folding.add(item.payload, over_gaps=True)
        first = min(item.offset for item in items)
        run.dirty_from = first if run.dirty_from is None else min(first, run.dirty_from)
        run.expect(first, self._limits.refolds_max)
        self._gaps += 1

    def _give_up_stale(self, *, idle: bool) -> None:
        """What has waited for so long that the partition must not wait for it any more; log time stands still in an idle one."""
        clock = self._checkpoints.read_clock()
        for run in self._loaded.values():
            if run.held and (
                idle
                or self._next - run.held.first_offset > self._limits.behind_max
                or self._checkpoints.silence_ms(run.hlc, clock) > self._limits.over_ms
            ):
                self._over_gaps(run, [])


class _Misplaced(EvidenceBroken):
    """An event in a record that is not its run's."""


def _check(meta: EventMeta) -> None:
    """Ids become parts of names in S3."""
    try:
        check_id("run id", meta.run_id)
    except InvalidIdentifier as error:
        raise _Misplaced(str(error)) from error
    if not 0 < len(meta.tenant) <= TENANT_CHARACTERS_MAX:
        raise _Misplaced(f"its tenant has {len(meta.tenant)} characters, 1 to {TENANT_CHARACTERS_MAX} can be")


def _begins(meta: EventMeta) -> bool:
    """Whether it is a run's first event: nothing of the run was there before, or it comes again."""
    return meta.seq == 1 and meta.agent_id == ROOT_AGENT_ID and meta.incarnation == 1


def _stream_order(item: Item) -> tuple[str, int, int]:
    meta = decode_meta(item.payload)
    return meta.agent_id, meta.incarnation, meta.seq
