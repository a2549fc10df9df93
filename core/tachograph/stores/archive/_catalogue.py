"""The catalogue of what the archive holds: runs are folded when they are asked for, and only those that went on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, cast

from tachograph.core.causality import hlc_ms
from tachograph.core.errors import UnknownEffect, UnknownRun
from tachograph.core.findings import (
    EffectFinding,
    EffectRow,
    Finding,
    Position,
    RunFinding,
    RunRow,
    finding_bytes,
    finding_of,
    findings_of,
    row_of,
)
from tachograph.core.ports import PastEffect
from tachograph.schemas import EffectState
from tachograph.stores._fold_run import fold_run
from tachograph.stores._log import nearest
from tachograph.stores.archive._cache import QUIET_MS
from tachograph.stores.archive._log import ArchiveLog
from tachograph.stores.archive._union import UnionLog

_RUNS: Final = "SELECT run_id, first_hlc, last_hlc, touched, folder FROM runs"
_NEWEST: Final = "SELECT folder, max(last_hlc) FROM segments GROUP BY folder"


class _Known(NamedTuple):
    run_id: str
    first_hlc: int
    last_hlc: int
    touched: int
    folder: str


class ArchiveCatalogue:
    """Rows of archived runs, kept in the archive log's cache and made anew from the events at will.

    Safe for several threads and processes.

    Args:
        archive: which runs there are.
        log: what a run's events are read from: the archive, or the archive and local spools.
        local: how often local runs went on; their rows are made anew when they do.
    """

    def __init__(
        self, archive: ArchiveLog, log: ArchiveLog | UnionLog, local: Callable[[], Mapping[str, int]] | None = None
    ) -> None:
        self._archive = archive
        self._log = log
        self._local = local
        self._database = archive.cache.database

    def run_ids(self) -> Sequence[str]:
        """The runs, oldest first."""
        return self._archive.run_ids()

    def runs(self) -> Sequence[RunRow]:
        """Every run, oldest first."""
        self._fold_stale()
        query = "SELECT row FROM rows JOIN runs USING (run_id) ORDER BY first_hlc, run_id"
        return [_row(data) for (data,) in self._database.rows(query)]

    def run(self, run_id: str) -> RunRow:
        """One run.

        Raises:
            UnknownRun: there is no such run.
        """
        self._fold_stale(run_id)
        for (data,) in self._database.rows("SELECT row FROM rows WHERE run_id = ?", (run_id,)):
            return _row(data)
        known = [known for _, known in self._archive.cache.run_ids()]
        raise UnknownRun(run_id, "the archive", nearest(run_id, known))

    def effects(self, run_id: str | None = None) -> Sequence[EffectRow]:
        """The effects of a run, or all; in the order in which they last moved."""
        return [finding.row for finding in self.effect_findings(run_id)]

    def effect_findings(self, run_id: str | None = None) -> Sequence[EffectFinding]:
        """The same with the events that moved them."""
        self._fold_stale()
        query = "SELECT finding FROM effects WHERE ?1 IS NULL OR run_id = ?1 ORDER BY version, effect_id"
        rows = self._database.rows(query, (run_id,))
        return [cast("EffectFinding", finding_of(cast("bytes", data))) for (data,) in rows]

    def effect(self, effect_id: str) -> EffectRow:
        """One effect.

        Raises:
            UnknownEffect: there is none.
        """
        self._fold_stale()
        for (data,) in self._database.rows("SELECT finding FROM effects WHERE effect_id = ?", (effect_id,)):
            return cast("EffectFinding", finding_of(cast("bytes", data))).row
        raise UnknownEffect(effect_id, "there is none in the archive")

    def find(self, tenant: str, name: str, idempotency_key: str) -> PastEffect | None:
        """The effect under this key that counts: the latest that is not FAILED."""
        for row in reversed(self.effects()):
            asked = (row.tenant, row.name, row.idempotency_key) == (tenant, name, idempotency_key)
            if asked and row.state is not EffectState.FAILED:
                return PastEffect(row.effect_id, tenant, name, idempotency_key, row.state)
        return None

    def state(self, effect_id: str) -> EffectState | None:
        """Where an effect stands, whoever moved it last; None where it is not known."""
        try:
            return self.effect(effect_id).state
        except UnknownEffect:
            return None

    def made_anew(self) -> Iterator[Finding]:
        """What folding every run from its first event finds, whatever was found before."""
        self._archive.refresh()
        newest = dict(cast("list[tuple[str, int]]", self._database.rows(_NEWEST)))
        for known in self._known(_RUNS, ()):
            is_over = hlc_ms(known.last_hlc) + QUIET_MS < hlc_ms(newest[known.folder])
            yield from self._folded(known, over=is_over)

    def close(self) -> None:
        """Let go of the file."""
        self._database.close()

    def _fold_stale(self, run_id: str | None = None) -> None:
        """Fold the runs that went on since they were folded, or that one if it did."""
        self._archive.refresh()
        newest = dict(cast("list[tuple[str, int]]", self._database.rows(_NEWEST)))
        local: Mapping[str, int] = {} if self._local is None else self._local()
        stamps = dict(cast("list[tuple[str, str]]", self._database.rows("SELECT run_id, stamp FROM rows")))
        where, values = ("", ()) if run_id is None else (" WHERE run_id = ?", (run_id,))
        for known in self._known(f"{_RUNS}{where}", values):
            is_over = hlc_ms(known.last_hlc) + QUIET_MS < hlc_ms(newest[known.folder])
            stamp = f"{known.touched}.{local.get(known.run_id, 0)}.{int(is_over)}"
            if stamps.get(known.run_id) != stamp:
                self._keep(known.run_id, stamp, list(self._folded(known, over=is_over)))

    def _known(self, query: str, values: Sequence[str]) -> Iterator[_Known]:
        return (_Known(*cast("tuple[str, int, int, int, str]", row)) for row in self._database.rows(query, values))

    def _folded(self, known: _Known, *, over: bool) -> Iterator[Finding]:
        folded = fold_run(known.run_id, self._log.read_known(known.run_id))
        state = folded.state
        state.first_hlc = min(state.first_hlc or known.first_hlc, known.first_hlc)
        yield from findings_of(state, over=over)
        if folded.broken is not None:
            own = [effect for effect in findings_of(state, over=over) if isinstance(effect, EffectFinding)]
            unknown = sum(effect.row.state is EffectState.UNKNOWN for effect in own)
            row = row_of(state, over=over, effects=len(own), unknown_effects=unknown, broken=folded.broken)
            yield RunFinding(row, Position(state.events, state.hlc, over), state.first_hlc)

    def _keep(self, run_id: str, stamp: str, findings: Sequence[Finding]) -> None:
        rows = [(run_id, stamp, finding_bytes(finding)) for finding in findings if isinstance(finding, RunFinding)]
        effects = [finding for finding in findings if isinstance(finding, EffectFinding)]
        with self._database.transaction():
            self._database.change("INSERT OR REPLACE INTO rows VALUES (?, ?, ?)", rows)
            self._database.change(_EFFECT, [_effect(run_id, effect) for effect in effects])


_EFFECT: Final = """
INSERT INTO effects VALUES (?, ?, ?, ?, ?)
ON CONFLICT (effect_id) DO UPDATE SET source = excluded.source, version = excluded.version, finding = excluded.finding
WHERE excluded.version > version OR excluded.source = source
"""


def _effect(source: str, finding: EffectFinding) -> tuple[str, str, str, str, bytes]:
    return finding.row.effect_id, finding.row.run_id, source, finding.version, finding_bytes(finding)


def _row(data: object) -> RunRow:
    return cast("RunFinding", finding_of(cast("bytes", data))).row
