"""Keeping the catalogue's index of the log up to date, segment by segment."""

from __future__ import annotations

from collections.abc import Collection, Container, Sequence
from functools import cache
from pathlib import Path
from typing import cast

from tachograph.core.causality import EventId
from tachograph.core.errors import EvidenceBroken, InvalidIdentifier, StoreUnavailable
from tachograph.schemas import EffectTransitioned, decode, prefix_of
from tachograph.stores._database import Database, Row
from tachograph.stores._files import is_locked
from tachograph.stores._index import Mark, Placed, Range, Tail, read_tail
from tachograph.stores._left_open import came_back
from tachograph.stores._log import LocalLog
from tachograph.stores._retired import is_retired, read_retired, retired_names, retired_stamp
from tachograph.stores._segments import Spool, SpoolState, list_spools, segment_size
from tachograph.stores._spool import LOCK_NAME, segment_name


class CatalogueIndex:
    """Reads what was appended to the log since the last time, by whichever process that was."""

    def __init__(self, log_directory: Path, database: Database) -> None:
        self._log_directory = log_directory
        self._database = database
        self._known_settled: frozenset[str] = frozenset()
        self._retired = (-1, -1)
        """The stamp of the retired spools that were taken in."""

    def refresh(self, skip: Collection[str] = ()) -> None:
        """Bring spools, segments, ranges, transitions and the list of runs up to date, but for some spools.

        Raises:
            StoreUnavailable: log or catalogue cannot be read.
            UnsupportedSchema: a newer release wrote a segment.
        """
        self.retire()
        passed = self._settled().union(skip)
        passed = passed.union(self._standing(passed))
        for spool in list_spools(self._log_directory, skip=passed):
            try:
                self.read(spool)
            except StoreUnavailable:
                if not is_retired(self._log_directory, spool.name):  # else it is being removed at this very moment
                    raise

    def read(self, spool: Spool) -> None:
        """Bring up to date with one spool.

        Raises:
            StoreUnavailable: log or catalogue cannot be read.
            UnsupportedSchema: a newer release wrote a segment.
        """
        for number in spool.numbers:
            if self._grew(spool, number):
                self._take_in(spool, number)
        if spool.state is not SpoolState.OPEN:
            self._settle(spool)

    def retire(self) -> None:
        """Let go of the spools that count as removed, but for what stays of them.

        Raises:
            StoreUnavailable: log or catalogue cannot be read.
            CorruptFrame: what stays of one is not what was written.
        """
        stamp = retired_stamp(self._log_directory)
        if stamp == self._retired:
            return
        rows = self._database.rows("SELECT spool FROM spools WHERE settled = ?", (_RETIRED,))
        known = {str(name) for (name,) in rows}
        for name in retired_names(self._log_directory):
            if name not in known:
                self._let_go(name)
        self._retired = stamp

    def _let_go(self, name: str) -> None:
        database = self._database
        effects = read_retired(self._log_directory, name).effects
        with database.transaction():
            database.change(_RUN_TOUCHED_IN, [(name,)])
            for table in ("segments", "ranges", "transitions"):
                database.change(f"DELETE FROM {table} WHERE spool = ?", [(name,)])  # noqa: S608 a name of ours
            database.change(_RUN_GONE, [()])
            database.change("INSERT OR REPLACE INTO spools VALUES (?, ?)", [(name, _RETIRED)])
            database.change(_TRANSITION, effects)

    def _settled(self) -> frozenset[str]:
        """The spools that are read to their end; asked for anew only when their number changed."""
        ((count,),) = self._database.rows("SELECT count(*) FROM spools WHERE settled")
        if count != len(self._known_settled):
            rows = self._database.rows("SELECT spool FROM spools WHERE settled")
            self._known_settled = frozenset(str(name) for (name,) in rows)
        return self._known_settled

    def _standing(self, passed: Container[str]) -> list[str]:
        """Of the other spools those to which nothing was added since they were read, and whose writers live.

        It is asked for every effect with a key, and costs half of what looking at a spool does.
        """
        rows = cast("list[tuple[str, int, int, int]]", self._database.rows(_LATEST_SEGMENTS))
        return [
            name
            for name, number, position, sealed in rows
            if name not in passed and not sealed and _stands(self._log_directory / name, number, position)
        ]

    def _mark(self, spool: Spool, number: int) -> Mark | None:
        query = "SELECT position, crc, sealed FROM segments WHERE spool = ? AND number = ?"
        for position, crc, sealed in cast(
            "list[tuple[int, int, int]]", self._database.rows(query, (spool.name, number))
        ):
            return Mark(position, crc, bool(sealed))
        return None

    def _grew(self, spool: Spool, number: int) -> bool:
        mark = self._mark(spool, number)
        return mark is None or (not mark.sealed and segment_size(spool.path / segment_name(number)) > mark.position)

    def _take_in(self, spool: Spool, number: int) -> None:
        database = self._database
        with database.transaction():
            tail = read_tail(spool, number, self._mark(spool, number), _transition_prefixes())
            if tail is None:
                return
            database.change("INSERT OR IGNORE INTO spools VALUES (?, 0)", [(spool.name,)])
            self._place(tail.placed)
            self._move(spool, _events(tail))
            mark = tail.mark
            row = (spool.name, number, mark.position, mark.crc, int(mark.sealed))
            database.change("INSERT OR REPLACE INTO segments VALUES (?, ?, ?, ?, ?)", [row])

    def _move(self, spool: Spool, moves: Sequence[tuple[EffectTransitioned, EventId]]) -> None:
        database = self._database
        database.change(_TRANSITION, [_transition(event, effect, spool) for event, effect in moves])
        # A run's row counts its effects, and an event of another run may have moved one.
        elsewhere = {effect.run_id for event, effect in moves if effect.run_id != event.meta.run_id}
        database.change(_RUN_TOUCHED, [(run_id,) for run_id in sorted(elsewhere)])

    def _place(self, placed: Sequence[Placed]) -> None:
        database = self._database
        seen: dict[str, int] = {}
        for found in placed:
            seen[found.run_id] = min(found.hlc, seen.get(found.run_id, found.hlc))
        database.change(_RUN_SEEN, list(seen.items()))
        joined = 1 if placed and self._continues(placed[0]) else 0
        rows = [(found.run_id, *found.range) for found in placed[joined:]]
        database.change("INSERT OR REPLACE INTO ranges VALUES (?, ?, ?, ?, ?, ?)", rows)

    def _continues(self, found: Placed) -> bool:
        """Join a range to the stored one that it continues; whether there was one."""
        spool, number, start, end, _ = found.range
        place = (found.run_id, spool, number, start)
        before = "FROM ranges WHERE run_id = ? AND spool = ? AND number = ? AND end = ?"
        rows = self._database.rows(f"SELECT start {before}", place)
        self._database.change(
            "UPDATE ranges SET end = ? WHERE run_id = ? AND spool = ? AND number = ? AND end = ?",
            [(end, *place)] if rows else [],
        )
        return bool(rows)

    def _settle(self, spool: Spool) -> None:
        """Nothing more comes from this spool: what it left open stays open."""
        database = self._database
        with database.transaction():
            database.change("INSERT OR REPLACE INTO spools VALUES (?, 1)", [(spool.name,)])
            rows = [(spool.name, int(spool.state is SpoolState.ABANDONED), spool.name)]
            database.change(_RUNS_SETTLED, rows)
            left: dict[str, list[str]] = {}
            for run_id, effect_id in cast("list[tuple[str, str]]", database.rows(_LEFT_OPEN, (spool.name,))):
                left.setdefault(run_id, []).append(effect_id)
            for run_id, effect_ids in left.items():
                self._resolve(run_id, effect_ids)

    def _resolve(self, run_id: str, effect_ids: list[str]) -> None:
        try:
            found = came_back(
                effect_ids, LocalLog(self._log_directory, RangesAsStored(self._database)).read_run(run_id)
            )
        except (EvidenceBroken, StoreUnavailable):
            return  # what cannot be read decides nothing: they stay as they are, UNKNOWN
        self._database.change(
            "UPDATE transitions SET state = ?, hlc = ?, at_us = ? WHERE effect_id = ?",
            [(back.state.value, back.hlc, back.at_us, back.effect_id) for back in found],
        )


class RangesAsStored:
    """A `RunIndex` of what the catalogue has, without bringing it up to date."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def run_ids(self) -> Sequence[str]:
        """The runs, oldest first."""
        return [str(run_id) for (run_id,) in self._database.rows("SELECT run_id FROM runs ORDER BY first_hlc, run_id")]

    def ranges(self, run_id: str) -> Sequence[Range]:
        """Where a run lies; empty where it is not known."""
        query = "SELECT spool, number, start, end, crc FROM ranges WHERE run_id = ? ORDER BY spool, number, start"
        rows = cast("list[tuple[str, int, int, int, int]]", self._database.rows(query, (run_id,)))
        return [Range(*row) for row in rows]


_LATEST_SEGMENTS = """
SELECT spool, max(number), position, sealed FROM segments JOIN spools USING (spool) WHERE NOT settled GROUP BY spool
"""

_LEFT_OPEN = "SELECT run_id, effect_id FROM transitions WHERE spool = ? AND state = 'EXECUTING'"

_RUN_SEEN = """
INSERT INTO runs (run_id, first_hlc) VALUES (?, ?)
ON CONFLICT (run_id) DO UPDATE SET touched = touched + 1, first_hlc = min(first_hlc, excluded.first_hlc)
"""

_RETIRED = 2
"""In `spools.settled`: it counts as removed, and only its effects are known."""

_RUN_TOUCHED_IN = "UPDATE runs SET touched = touched + 1 WHERE run_id IN (SELECT run_id FROM ranges WHERE spool = ?)"

_RUN_GONE = "DELETE FROM runs WHERE run_id NOT IN (SELECT run_id FROM ranges)"

_RUN_TOUCHED = "UPDATE runs SET touched = touched + 1 WHERE run_id = ?"

_RUNS_SETTLED = """
UPDATE runs SET touched = touched + 1 WHERE run_id IN (SELECT run_id FROM ranges WHERE spool = ?) AND (
    ? OR status IS NULL OR status <> 'FINISHED'
) OR run_id IN (SELECT run_id FROM transitions WHERE spool = ? AND state IN ('PLANNED', 'EXECUTING'))
"""

_TRANSITION = """
INSERT INTO transitions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (effect_id) DO UPDATE SET
    state = excluded.state, hlc = excluded.hlc, at_us = excluded.at_us, reason = excluded.reason, by = excluded.by,
    spool = excluded.spool
WHERE excluded.hlc > hlc
"""


def _stands(spool: Path, number: int, position: int) -> bool:
    try:
        if (spool / segment_name(number)).stat().st_size != position:
            return False
    except OSError:
        return False
    return not (spool / segment_name(number + 1)).exists() and is_locked(spool / LOCK_NAME)


@cache
def _transition_prefixes() -> frozenset[bytes]:
    return frozenset({prefix_of("EffectTransitioned")})


def _events(tail: Tail) -> list[tuple[EffectTransitioned, EventId]]:
    found: list[tuple[EffectTransitioned, EventId]] = []
    for _, payload in tail.events:
        event = decode(payload)
        assert isinstance(event, EffectTransitioned)
        try:
            found.append((event, EventId.parse(event.effect_id)))
        except InvalidIdentifier:
            continue
    return found


def _transition(event: EffectTransitioned, effect: EventId, spool: Spool) -> Row:
    return (
        event.effect_id,
        effect.run_id,
        effect.agent_id,
        event.meta.tenant,
        event.name,
        event.idempotency_key,
        event.to_state.value,
        event.meta.hlc,
        event.meta.recorded_at_us,
        event.reason,
        event.by,
        spool.name,
    )
