"""A run in memory."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tachograph.core.findings import Position
from tachograph.core.state import Folding, RunState, Taken, empty
from tachograph.schemas import decode_meta
from tachograph.stream_processors.fold._held import Held, Item
from tachograph.stream_processors.fold._limits import FoldLimits
from tachograph.stream_processors.fold._values import Past

_PAUSE_MAX = 16
"""Checkpoints between two attempts to fold a run from the archive."""


@dataclass(slots=True)
class Loaded:
    """A run that is being folded."""

    tenant: str
    folding: Folding
    touched_at: int
    """Offset of its latest record."""
    heard: int
    """hlc of an event that was met; the state may be ahead of it, or, while events wait, behind."""
    known: bool
    """Whether there is a snapshot of it, usable or not."""
    kept: int = 0
    """Events in its snapshot."""
    dirty_from: int | None = None
    """Offset of the first record that is not in its snapshot."""
    told: Position | None = None
    """As its findings were told last."""
    tell_all: bool = False
    """Whether its effects have perhaps never been told."""
    held: Held | None = None
    wanted: int | None = 0
    """As many events it has to have at least; None: nobody knows."""
    wanted_at: int = 0
    """Offset of the latest record that is counted in it."""
    late_from: int | None = None
    """Offset of the first record that showed that the run has to be folded from the archive."""
    refolds: int = 0
    """How often that is yet to be tried."""
    refold_in: int = 1
    """Checkpoints until the next time."""
    refold_pause: int = 1

    @property
    def state(self) -> RunState:
        """What its events add up to."""
        return self.folding.state

    @property
    def ended(self) -> bool:
        """Whether its end was recorded."""
        return self.state.status == "FINISHED"

    @property
    def owed(self) -> int:
        """As many events it has to have when it is taken up again."""
        came = self.state.events + (len(self.held) if self.held else 0)
        if not self.refolds:
            return came
        return max(came + 1, self.wanted or 0)

    @property
    def hlc(self) -> int:
        """Of its latest event."""
        return max(self.state.hlc, self.heard)

    @property
    def waits(self) -> bool:
        """Whether something is yet to come that can change what has come."""
        return bool(self.held) or self.refolds > 0

    @property
    def pin(self) -> int | None:
        """Offset of the first record that has to be read again after a crash; None where there is none."""
        held = self.held.first_offset if self.held else None
        return min((at for at in (self.dirty_from, self.late_from, held) if at is not None), default=None)

    def gap_in(self, agent_id: str, incarnation: int, seq: int) -> bool:
        """Whether an event belongs where the run has a gap."""
        return any(
            (agent, life) == (agent_id, incarnation) and first <= seq <= last
            for agent, life, first, last in self.state.gaps
        )

    def expect(self, offset: int, refolds: int) -> None:
        """Something is missing that the archive may have, or get, as the record at an offset shows."""
        self.late_from = offset if self.late_from is None else self.late_from
        self.refolds, self.refold_in, self.refold_pause = refolds, 1, 1

    def came(self, offset: int) -> None:
        """Count an event that is new in what it has to have: it makes up for none of those that are missing."""
        if self.refolds and self.wanted is not None and offset > self.wanted_at:
            self.wanted += 1

    def despair(self) -> None:
        """Leave what is missing."""
        self.refolds, self.late_from = 0, None

    def is_grown(self, limits: FoldLimits) -> bool:
        """Whether a snapshot is due by its growth."""
        grown = self.state.events - self.kept
        if grown < limits.snapshot_events_min:
            return False
        return grown >= min(self.kept // limits.snapshot_growth, _items(self.state) * limits.snapshot_item_events)

    def is_small(self, limits: FoldLimits) -> bool:
        """Whether it ended, is in no snapshot, and is folded from the archive sooner than read from one."""
        return self.ended and not self.known and self.state.events <= limits.small_events_max

    def refold(self, past: Past) -> bool:
        """Fold what the archive has, and take that where nothing is lost by it; whether it was taken."""
        self.refold_in -= 1
        if self.refold_in > 0:
            return False
        self.refolds -= 1
        self.refold_pause = min(self.refold_pause * 2, _PAUSE_MAX)
        self.refold_in = self.refold_pause
        state = better(past, self.tenant, self.state)
        if state is not None:
            self.folding = Folding(state, tenant=self.tenant)
            self.tell_all = True
            self._hold_anew()
        if not self.refolds or self._is_whole:
            self.despair()
        return state is not None

    @property
    def _is_whole(self) -> bool:
        """Whether nothing is known to be missing; of a run of which nothing was known, nobody can say."""
        return not self.state.gaps and self.wanted is not None and self.state.events >= self.wanted

    def _hold_anew(self) -> None:
        for item in self.held.give_up() if self.held else ():
            self.offer(item)

    def offer(self, item: Item) -> None:
        """Fold an event that has waited, or let it wait on.

        Raises:
            HoldBackFull: too many wait.
        """
        if self.folding.add(item.payload) is Taken.AHEAD:
            assert self.held is not None
            meta = decode_meta(item.payload)
            agent = self.state.agents.get((meta.agent_id, meta.incarnation))
            self.held.wait(meta, 0 if agent is None else agent.seq, item.offset, item.payload)


def folded(past: Past, tenant: str, run_id: str) -> RunState | None:
    """What the archive has of a run; None where it has nothing."""
    state = empty(run_id)
    add_all(Folding(state, tenant=tenant), past.history(tenant, run_id))
    return state if state.events else None


def add_all(folding: Folding, payloads: Iterable[bytes]) -> None:
    """Fold events, whatever is missing between them."""
    for payload in payloads:
        folding.add(payload, over_gaps=True)


def better(past: Past, tenant: str, than: RunState) -> RunState | None:
    """What the archive has of a run, where that is more."""
    if past.archived(tenant, than.run_id) <= than.events:
        return None
    state = folded(past, tenant, than.run_id)
    return state if state is not None and _is_better(state, than) else None


def _is_better(new: RunState, old: RunState) -> bool:
    if any(stream not in new.agents or new.agents[stream].seq < agent.seq for stream, agent in old.agents.items()):
        return False
    return new.events > old.events


def _items(state: RunState) -> int:
    """About how many things there are to write down."""
    of_run = len(state.effects) + len(state.in_flight) + len(state.early) + len(state.approvals)
    of_run += len(state.unrecorded) + len(state.erased) + len(state.gaps)
    agents = state.agents.values()
    return of_run + sum(1 + len(agent.open_calls) + len(agent.values) + len(agent.artifacts) for agent in agents)
