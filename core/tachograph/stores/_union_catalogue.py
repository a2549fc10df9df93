"""What this machine has recorded and what all machines have shipped, in one catalogue."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

from tachograph.core.errors import UnknownEffect, UnknownRun
from tachograph.core.findings import EffectRow, IntegrityFinding, RunRow
from tachograph.core.ports import PastEffect
from tachograph.schemas import EffectState
from tachograph.stores._catalogue import SqliteCatalogue
from tachograph.stores._catalogue_port import Catalogue


class Audited(Protocol):
    """What is told of streams."""

    def problems(self) -> Sequence[IntegrityFinding]:
        """What the auditor said of streams that are not INTACT."""
        ...


class UnionCatalogue:
    """A `Catalogue` over the one of this machine and one of all machines. Safe for several threads and processes.

    Of two rows of a run the one of more events counts, of two of an effect the one that moved later; where they are
    even, that of this machine: it knows which processes live.

    Args:
        local: of this machine's spools.
        far: of what was shipped.
        told: the same, where it holds what others tell, and not what the archive gives.
    """

    def __init__(self, local: SqliteCatalogue, far: Catalogue, told: Audited | None = None) -> None:
        self.local: Final = local
        self.far: Final = far
        self._told = told

    @property
    def may_lag(self) -> bool:
        """Whether others have to tell it of what was archived."""
        return self._told is not None

    def problems(self) -> Sequence[IntegrityFinding]:
        """What the auditor said of archived streams that are not INTACT, by run and agent; empty where nobody told of any."""
        return () if self._told is None else self._told.problems()

    def run_ids(self) -> Sequence[str]:
        """The runs, oldest first."""
        return [row.run_id for row in self.runs()]

    def runs(self) -> Sequence[RunRow]:
        """Every run, oldest first."""
        rows = {row.run_id: row for row in self.far.runs()}
        for row in self.local.runs():
            known = rows.get(row.run_id)
            rows[row.run_id] = row if known is None or known.events <= row.events else known
        return sorted(rows.values(), key=lambda row: (row.started_at_us, row.run_id))

    def run(self, run_id: str) -> RunRow:
        """One run.

        Raises:
            UnknownRun: there is no such run.
        """
        try:
            near = self.local.run(run_id)
        except UnknownRun:
            return self.far.run(run_id)
        try:
            far = self.far.run(run_id)
        except UnknownRun:
            return near
        return near if far.events <= near.events else far

    def effects(self, run_id: str | None = None) -> Sequence[EffectRow]:
        """The effects of a run, or all; in the order in which they last moved."""
        rows = {row.effect_id: row for row in self.far.effects(run_id)}
        for row in self.local.effects(run_id):
            known = rows.get(row.effect_id)
            rows[row.effect_id] = row if known is None else _later(row, known)
        return sorted(rows.values(), key=lambda row: (row.at_us, row.effect_id))

    def effect(self, effect_id: str) -> EffectRow:
        """One effect.

        Raises:
            UnknownEffect: there is none.
        """
        try:
            near = self.local.effect(effect_id)
        except UnknownEffect:
            return self.far.effect(effect_id)
        try:
            return _later(near, self.far.effect(effect_id))
        except UnknownEffect:
            return near

    def find(self, tenant: str, name: str, idempotency_key: str) -> PastEffect | None:
        """The effect under this key that counts: the latest that is not FAILED."""
        asked = (tenant, name, idempotency_key)
        found = [effect for effect in (self.local.find(*asked), self.far.find(*asked)) if effect is not None]
        rows = [self.effect(effect.effect_id) for effect in found]
        for row in sorted(rows, key=lambda row: row.at_us, reverse=True):
            if row.state is not EffectState.FAILED:
                return PastEffect(row.effect_id, tenant, name, idempotency_key, row.state)
        return None

    def state(self, effect_id: str) -> EffectState | None:
        """Where an effect stands, whoever moved it last; None where it is not known."""
        try:
            return self.effect(effect_id).state
        except UnknownEffect:
            return None

    def close(self) -> None:
        """Let go of files and connections."""
        self.local.close()
        self.far.close()


def _later(near: EffectRow, far: EffectRow) -> EffectRow:
    return near if far.at_us <= near.at_us else far
