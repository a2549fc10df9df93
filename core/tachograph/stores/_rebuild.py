"""Making the catalogue anew from the log, and comparing the two."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tachograph.core.errors import StoreUnavailable
from tachograph.core.findings import EffectFinding, RunFinding
from tachograph.stores._catalogue import SqliteCatalogue
from tachograph.stores._database import IN_MEMORY, Database, Row
from tachograph.stores._home import Home
from tachograph.stores._union_catalogue import UnionCatalogue

if TYPE_CHECKING:
    from tachograph.stores.archive import ArchiveLog

DIFFERENCES_MAX = 100
"""Differences told one by one; more of them say no more."""

_ATTEMPTS_MAX = 5
"""A log that grows while it is read is read again this often before the difference counts."""

_TABLES = {
    "spools": "SELECT * FROM spools ORDER BY spool",
    "segments": "SELECT * FROM segments ORDER BY spool, number",
    "ranges": "SELECT * FROM ranges ORDER BY run_id, spool, number, start",
    "transitions": "SELECT * FROM transitions ORDER BY effect_id",
    "runs": "SELECT run_id, first_hlc, status, folded FROM runs ORDER BY run_id",
}

_INSERTS = {
    "spools": "INSERT INTO spools VALUES (?, ?)",
    "segments": "INSERT INTO segments VALUES (?, ?, ?, ?, ?)",
    "ranges": "INSERT INTO ranges VALUES (?, ?, ?, ?, ?, ?)",
    "transitions": "INSERT INTO transitions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    "runs": "INSERT INTO runs (run_id, first_hlc, status, folded, folded_at) VALUES (?, ?, ?, ?, 1)",
}

_Tables = dict[str, list[Row]]


@dataclass(frozen=True, slots=True)
class RebuildReport:
    """What was made anew, and where the catalogue differed from the log."""

    runs: int
    effects: int
    differences: tuple[str, ...]
    """Sentences; the first DIFFERENCES_MAX."""


def rebuild(home: Home, *, check: bool) -> RebuildReport:
    """Fold the whole log from zero and compare the result with the catalogue, row by row and byte for byte.

    Args:
        home: whose catalogue.
        check: only compare; else the catalogue is replaced by what was folded.

    Raises:
        StoreUnavailable: the log cannot be read, or the catalogue cannot be written by this user. Comparing brings it
            up to date first, so that a catalogue on a read-only medium can be compared only where there is none.
    """
    if not check or home.own_catalogue.database.path.exists():
        home.own_catalogue.database.require_file()
    present, made = _both(home)
    differences = _differences(present, made)
    if not check:
        _replace(home.own_catalogue.database, made, unreadable=present is None)
        if home.archive is not None:
            home.archive.forget()
    own = RebuildReport(len(made["runs"]), len(made["transitions"]), tuple(differences))
    return own if home.archive is None else _with_far(home, own, home.archive, check=check)


def _with_far(home: Home, own: RebuildReport, archive: ArchiveLog, *, check: bool) -> RebuildReport:
    """The same of a catalogue that holds what all machines have shipped."""
    from tachograph.stores.archive import ArchiveCatalogue
    from tachograph.stores.redis import RedisCatalogue, rebuild_redis

    far = home.catalogue.far if isinstance(home.catalogue, UnionCatalogue) else None
    if not isinstance(far, RedisCatalogue):
        return own
    findings = list(ArchiveCatalogue(archive, archive).made_anew())
    differences = rebuild_redis(far, findings, check=check)
    runs = sum(isinstance(finding, RunFinding) for finding in findings)
    effects = sum(isinstance(finding, EffectFinding) for finding in findings)
    return RebuildReport(own.runs + runs, own.effects + effects, (*own.differences, *differences)[:DIFFERENCES_MAX])


def _both(home: Home) -> tuple[_Tables | None, _Tables]:
    attempt = 1
    while True:
        present, made = _present(home.own_catalogue), _made(home)
        if present is None or present["segments"] == made["segments"] or attempt == _ATTEMPTS_MAX:
            return present, made
        attempt += 1


def _present(catalogue: SqliteCatalogue) -> _Tables | None:
    """What the catalogue holds; None where it cannot be read."""
    try:
        catalogue.complete()
        return _tables(catalogue.database)
    except StoreUnavailable:
        return None


def _made(home: Home) -> _Tables:
    catalogue = SqliteCatalogue(IN_MEMORY, home.path / "log")
    catalogue.complete()
    tables = _tables(catalogue.database)
    catalogue.close()
    return tables


def _tables(database: Database) -> _Tables:
    return {name: database.rows(query) for name, query in _TABLES.items()}


def _differences(present: _Tables | None, made: _Tables) -> list[str]:
    if present is None:
        return ["The catalogue cannot be read."]
    every = (sentence for name in _TABLES for sentence in _compared(name, present[name], made[name]))
    return [sentence for sentence, _ in zip(every, range(DIFFERENCES_MAX), strict=False)]


def _compared(table: str, present: Sequence[Row], made: Sequence[Row]) -> Iterator[str]:
    if present == made:
        return
    ours, theirs = set(present), set(made)
    yield from (
        f"{table}: the catalogue has {_text(row)}, the log does not give it." for row in present if row not in theirs
    )
    yield from (
        f"{table}: the log gives {_text(row)}, the catalogue does not have it." for row in made if row not in ours
    )


def _text(row: Row) -> str:
    return ", ".join(value.decode() if isinstance(value, bytes) else repr(value) for value in row)


def _replace(database: Database, made: _Tables, *, unreadable: bool) -> None:
    if unreadable:
        database.discard()
    with database.transaction():
        database.empty()
        for name, rows in made.items():
            database.change(_INSERTS[name], rows)
