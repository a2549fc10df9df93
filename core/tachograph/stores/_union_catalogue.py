"""What this machine has recorded and what all machines have shipped, in one catalogue."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
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
    even, that of this machine: it knows which processes live. Another tenant's run that has an id which was shipped as well
    is not shown.

    Args:
        local: of this machine's spools.
        far: of what was shipped.
        told: the same, where it holds what others tell, and not what the archive gives.
        tenant: whose runs `far` has.
    """

    def __init__(
        self, local: SqliteCatalogue, far: Catalogue, told: Audited | None = None, tenant: str = "default"
    ) -> None:
        self.local: Final = local
        self._tenant = tenant
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
            rows[row.run_id] = row if known is None else self._fuller(row, known)
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
        return self._fuller(near, far)

    def effects(self, run_id: str | None = None) -> Sequence[EffectRow]:
        """The effects of a run, or all; in the order in which they last moved."""
        rows = {row.effect_id: row for row in self.far.effects(run_id)}
        for row in self._shown(self.local.effects(run_id)):
            known = rows.get(row.effect_id)
            rows[row.effect_id] = row if known is None else _later(row, known)
        return sorted(rows.values(), key=lambda row: (row.at_us, row.effect_id))

    def effect(self, effect_id: str) -> EffectRow:
        """One effect.

        Raises:
            UnknownEffect: there is none.
        """
        rows = [*self._shown(_asked(self.local, effect_id)), *_asked(self.far, effect_id)]
        return reduce(_later, rows) if rows else self.far.effect(effect_id)

    def find(self, tenant: str, name: str, idempotency_key: str) -> PastEffect | None:
        """The effect under this key that counts: the latest that is not FAILED."""
        asked = (tenant, name, idempotency_key)
        found = [effect for effect in (self.local.find(*asked), self.far.find(*asked)) if effect is not None]
        every = [[*_asked(self.local, effect.effect_id), *_asked(self.far, effect.effect_id)] for effect in found]
        rows = [reduce(_later, (row for row in rows if row.tenant == tenant)) for rows in every]
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

    def _fuller(self, near: RunRow, far: RunRow) -> RunRow:
        return near if near.tenant == self._tenant and far.events <= near.events else far

    def _shown(self, near: Sequence[EffectRow]) -> list[EffectRow]:
        """Effects of this machine without those of other tenants' runs whose ids were shipped as well."""
        foreign = {row.run_id for row in near if row.tenant != self._tenant}
        hidden = {run_id for run_id in foreign if self._is_shipped(run_id)}
        return [row for row in near if row.tenant == self._tenant or row.run_id not in hidden]

    def _is_shipped(self, run_id: str) -> bool:
        try:
            self.far.run(run_id)
        except UnknownRun:
            return False
        return True


def _asked(catalogue: Catalogue, effect_id: str) -> list[EffectRow]:
    """An effect, where a catalogue knows it."""
    try:
        return [catalogue.effect(effect_id)]
    except UnknownEffect:
        return []


def _later(near: EffectRow, far: EffectRow) -> EffectRow:
    return near if far.at_us <= near.at_us else far
