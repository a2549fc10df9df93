"""The catalogue: what can be told of runs and effects, derived from the log and made anew from it at will."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import cast

from tachograph.core.errors import StoreUnavailable, UnknownEffect, UnknownRun
from tachograph.core.ports import PastEffect
from tachograph.schemas import EffectState
from tachograph.stores._catalogue_index import CatalogueIndex, RangesAsStored
from tachograph.stores._catalogue_runs import CatalogueRuns
from tachograph.stores._database import Database
from tachograph.stores._index import Range
from tachograph.stores._log import LocalLog, nearest
from tachograph.stores._rows import EffectRow, RunRow

_EFFECT = "SELECT effect_id, run_id, agent_id, tenant, name, idempotency_key, state, at_us, reason, by FROM effects"


class SqliteCatalogue:
    """A `RunIndex` and `PastEffects` over a log. Every question first brings the catalogue up to date.

    Safe for several threads and processes.

    Args:
        path: of the database, made when it is first needed; `:memory:` keeps nothing.
        log_directory: where spools lie.
    """

    def __init__(self, path: Path | str, log_directory: Path) -> None:
        self._path = path
        self.database = Database(path)
        self._stored = RangesAsStored(self.database)
        self._index = CatalogueIndex(log_directory, self.database)
        self._runs = CatalogueRuns(self.database, LocalLog(log_directory, self._stored))

    def complete(self) -> None:
        """Bring the catalogue up to date with nothing left to fold."""
        self.refresh()
        self._fold_stale()

    def refresh(self) -> None:
        """Bring the catalogue up to date with the log.

        Raises:
            StoreUnavailable: log or catalogue cannot be read.
        """
        self._index.refresh()

    def run_ids(self) -> Sequence[str]:
        """The runs, oldest first."""
        self.refresh()
        return self._stored.run_ids()

    def ranges(self, run_id: str) -> Sequence[Range]:
        """Where a run lies; empty where it is not known."""
        self.refresh()
        return self._stored.ranges(run_id)

    def runs(self) -> Sequence[RunRow]:
        """Every run, oldest first. Those that went on since they were last asked for are folded anew."""
        self.refresh()
        self._fold_stale()
        return self._runs.rows()

    def run(self, run_id: str) -> RunRow:
        """One run.

        Raises:
            UnknownRun: there is no such run.
        """
        self.refresh()
        self._fold_stale(run_id)
        for row in self._runs.rows(run_id):
            return row
        raise UnknownRun(run_id, str(self._path), nearest(run_id, self._stored.run_ids()))

    def effects(self, run_id: str | None = None) -> Sequence[EffectRow]:
        """The effects of a run, or all; in the order in which they last moved."""
        self.refresh()
        where = "" if run_id is None else " WHERE run_id = ?"
        rows = self.database.rows(f"{_EFFECT}{where} ORDER BY hlc, effect_id", () if run_id is None else (run_id,))
        return [_effect_row(row) for row in rows]

    def effect(self, effect_id: str) -> EffectRow:
        """One effect.

        Raises:
            UnknownEffect: there is none.
        """
        self.refresh()
        for row in self.database.rows(f"{_EFFECT} WHERE effect_id = ?", (effect_id,)):
            return _effect_row(row)
        raise UnknownEffect(effect_id, "there is none in this home")

    def find(self, tenant: str, name: str, idempotency_key: str) -> PastEffect | None:
        """The effect under this key that counts: the latest that is not FAILED."""
        self.refresh()
        return self._found(tenant, name, idempotency_key)

    def find_beside(self, own: Collection[str], tenant: str, name: str, idempotency_key: str) -> PastEffect | None:
        """`find` for the writer of some spools, who knows what he wrote: they are read only where one counts."""
        self._index.refresh(skip=own)
        found = self._found(tenant, name, idempotency_key)
        if found is None or self._spool_of(found.effect_id) not in own:
            return found
        return self.find(tenant, name, idempotency_key)

    def state(self, effect_id: str) -> EffectState | None:
        """Where an effect stands, whoever moved it last; None where it is not known."""
        self.refresh()
        for row in self.database.rows(f"{_EFFECT} WHERE effect_id = ?", (effect_id,)):
            return _effect_row(row).state
        return None

    def _fold_stale(self, run_id: str | None = None) -> None:
        try:
            self._runs.fold_stale(run_id)
        except StoreUnavailable:
            self.refresh()  # a spool may have been removed between looking where a run lies and reading it
            self._runs.fold_stale(run_id)

    def _found(self, tenant: str, name: str, idempotency_key: str) -> PastEffect | None:
        query = f"{_EFFECT} WHERE tenant = ? AND name = ? AND idempotency_key = ? AND state <> 'FAILED' ORDER BY hlc DESC LIMIT 1"
        for row in self.database.rows(query, (tenant, name, idempotency_key)):
            found = _effect_row(row)
            return PastEffect(found.effect_id, tenant, name, idempotency_key, found.state)
        return None

    def _spool_of(self, effect_id: str) -> str:
        ((spool,),) = self.database.rows("SELECT spool FROM transitions WHERE effect_id = ?", (effect_id,))
        return str(spool)

    def known_segments(self) -> dict[tuple[str, int], int]:
        """Bytes of each segment (spool, number) that were read at the last refresh, which this is not."""
        rows = cast("list[tuple[str, int, int]]", self.database.rows("SELECT spool, number, position FROM segments"))
        return {(spool, number): position for spool, number, position in rows}

    def close(self) -> None:
        """Let go of the database."""
        self.database.close()


def _effect_row(row: tuple[object, ...]) -> EffectRow:
    effect_id, run_id, agent_id, tenant, name, key, state, at_us, reason, by = cast(
        "tuple[str, str, str, str, str, str | None, str, int, str | None, str]", row
    )
    return EffectRow(effect_id, run_id, agent_id, tenant, name, key, EffectState(state), at_us, reason, by)
