"""The catalogue's runs: folded when they are asked for, and only those that went on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from tachograph.stores._database import Database
from tachograph.stores._fold_run import FoldedRun, fold_run, row_bytes, row_from_bytes, row_of
from tachograph.stores._log import LocalLog
from tachograph.stores._rows import RunRow

_STALE = "SELECT run_id, first_hlc, touched FROM runs WHERE folded_at <> touched"
_SETTLED = "SELECT settled FROM spools WHERE spool = ?"
_COUNTS = "SELECT count(*), coalesce(sum(state = 'UNKNOWN'), 0) FROM effects WHERE run_id = ?"

_ROWS = "SELECT folded FROM runs WHERE folded IS NOT NULL ORDER BY first_hlc, run_id"
_ROW = "SELECT folded FROM runs WHERE folded IS NOT NULL AND run_id = ?"

_FOLDED = "UPDATE runs SET status = ?, folded = ?, folded_at = ? WHERE run_id = ? AND folded_at < ?"
"""Not over what another process has folded from more."""


class CatalogueRuns:
    """Folds runs from the log into rows.

    Args:
        database: the catalogue's.
        log: read by the ranges that the catalogue has.
    """

    def __init__(self, database: Database, log: LocalLog) -> None:
        self._database = database
        self._log = log

    def fold_stale(self, run_id: str | None = None) -> None:
        """Fold the runs that went on since they were folded, or that one if it did."""
        query, values = (_STALE, ()) if run_id is None else (f"{_STALE} AND run_id = ?", (run_id,))
        for stale in cast("list[tuple[str, int, int]]", self._database.rows(query, values)):
            self._fold(*stale)

    def rows(self, run_id: str | None = None) -> Sequence[RunRow]:
        """What was folded, oldest first."""
        query, values = (_ROWS, ()) if run_id is None else (_ROW, (run_id,))
        return [row_from_bytes(cast("bytes", data)) for (data,) in self._database.rows(query, values)]

    def _fold(self, run_id: str, first_hlc: int, touched: int) -> None:
        folded = fold_run(run_id, self._log.read_run(run_id))
        ((effects, unknown),) = cast("list[tuple[int, int]]", self._database.rows(_COUNTS, (run_id,)))
        row = row_of(
            folded, alive=self._is_alive(folded), first_hlc=first_hlc, effects=effects, unknown_effects=unknown
        )
        with self._database.transaction():
            self._database.change(_FOLDED, [(row.status.value, row_bytes(row), touched, run_id, touched)])

    def _is_alive(self, folded: FoldedRun) -> bool:
        settled = self._database.rows(_SETTLED, (folded.root_spool,))
        return any(not done for (done,) in settled)
