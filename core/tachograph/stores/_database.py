"""The catalogue's SQLite file: the only place that knows sqlite3 and its exceptions."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from pathlib import Path

from tachograph.core.errors import StoreUnavailable
from tachograph.stores._files import reason_of
from tachograph.stores._forks import close_in_children

SCHEMA_VERSION = 1
"""A catalogue of another version is emptied and filled from the log again."""

IN_MEMORY = ":memory:"

BUSY_MS_MAX = 30_000
"""A refresh of one 64 MiB segment takes a few seconds; others wait for it."""

_ROOM_BYTES_MIN = 1 << 20
"""A disk with less is full."""

Value = str | int | bytes | None
Row = tuple[Value, ...]

_SCHEMA = """
CREATE TABLE spools (
    spool TEXT PRIMARY KEY, settled INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE segments (
    spool TEXT NOT NULL, number INTEGER NOT NULL, position INTEGER NOT NULL, crc INTEGER NOT NULL, sealed INTEGER NOT NULL,
    PRIMARY KEY (spool, number)
) WITHOUT ROWID;
CREATE TABLE ranges (
    run_id TEXT NOT NULL, spool TEXT NOT NULL, number INTEGER NOT NULL, start INTEGER NOT NULL, end INTEGER NOT NULL,
    crc INTEGER NOT NULL,
    PRIMARY KEY (run_id, spool, number, start)
) WITHOUT ROWID;
CREATE INDEX ranges_of_spool ON ranges (spool);
CREATE TABLE transitions (
    effect_id TEXT PRIMARY KEY, run_id TEXT NOT NULL, agent_id TEXT NOT NULL, tenant TEXT NOT NULL, name TEXT NOT NULL,
    idempotency_key TEXT, state TEXT NOT NULL, hlc INTEGER NOT NULL, at_us INTEGER NOT NULL, reason TEXT, by TEXT NOT NULL,
    spool TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX transitions_of_key ON transitions (tenant, name, idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX transitions_of_run ON transitions (run_id);
CREATE VIEW effects AS
    SELECT effect_id, run_id, agent_id, tenant, name, idempotency_key,
        CASE WHEN NOT settled THEN state WHEN state = 'EXECUTING' THEN 'UNKNOWN' WHEN state = 'PLANNED' THEN 'FAILED'
        ELSE state END AS state, hlc, at_us, reason, by
    FROM transitions JOIN spools USING (spool);
CREATE TABLE runs (
    run_id TEXT PRIMARY KEY, first_hlc INTEGER NOT NULL, status TEXT, folded BLOB, touched INTEGER NOT NULL DEFAULT 1,
    folded_at INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE INDEX stale_runs ON runs (run_id) WHERE folded_at <> touched;
"""

_leaked: list[sqlite3.Connection] = []


class Database:
    """One connection for all threads of a process, opened when first used.

    Args:
        path: of the file, made if it is missing; IN_MEMORY keeps nothing.
        tables: statements that make its tables; a file with other ones is emptied.
        version: of the tables.
    """

    def __init__(self, path: Path | str, tables: str = _SCHEMA, version: int = SCHEMA_VERSION) -> None:
        self.path = Path(path)
        self._tables = tables
        self._version = version
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._in_file = False
        close_in_children(self)

    def abandon(self) -> None:
        """Let a forked child open its own connection; not even closing the parent's one is allowed to it."""
        if self._connection is not None:
            _leaked.append(self._connection)
        self._connection = None
        self._lock = threading.RLock()

    def rows(self, query: str, values: Sequence[Value] = ()) -> list[Row]:
        """What a query selects."""
        with self._translated():
            return self._open().execute(query, values).fetchall()

    def change(self, statement: str, rows: Iterable[Sequence[Value]] = ((),)) -> None:
        """Execute a statement once for each row of values, within `transaction`."""
        with self._translated():
            self._open().executemany(statement, rows)

    @contextmanager
    def transaction(self) -> Generator[None]:
        """All changes inside become visible together or not at all; one process at a time."""
        with self._translated():
            connection = self._open()
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")

    def empty(self) -> None:
        """Forget everything, within `transaction`."""
        for statement in _EMPTY:
            self.change(statement)

    def require_file(self) -> None:
        """Make sure that what is changed from here on is kept, and not in memory alone.

        Raises:
            StoreUnavailable: this user may not write the file, or the directory that it lies in, or the disk is full.
        """
        with self._lock:
            if not self._in_file:
                self.close()
            if not is_kept(self.path):
                raise StoreUnavailable(
                    str(self.path),
                    "this user may not write it and beside it, or the disk is full, so that it can be neither compared "
                    "nor made anew; run the command as the owner of the home, on a medium that can be written",
                )

    def discard(self) -> None:
        """Delete the file; the next use makes an empty one.

        Raises:
            StoreUnavailable: it cannot be deleted.
        """
        self.close()
        for suffix in ("", "-wal", "-shm"):
            beside = self.path.with_name(self.path.name + suffix)
            try:
                beside.unlink(missing_ok=True)
            except OSError as error:
                raise StoreUnavailable(str(beside), f"it cannot be deleted: {reason_of(error)}") from error

    def close(self) -> None:
        """Close the connection; the next use opens another."""
        with self._translated():
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def __del__(self) -> None:
        """Give the descriptors back at once: sqlite3's connection and its statements refer to each other."""
        connection: sqlite3.Connection | None = getattr(self, "_connection", None)
        if connection is not None:
            connection.close()

    @contextmanager
    def _translated(self) -> Generator[None]:
        with self._lock:
            try:
                yield
            except sqlite3.Error as error:
                raise StoreUnavailable(
                    str(self.path), f"{error}; it holds nothing of its own: `tacho rebuild` makes it anew from the log"
                ) from error

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            self._in_file = is_kept(self.path)
            self._connection = _connect(str(self.path) if self._in_file else IN_MEMORY, self._tables, self._version)
        return self._connection


_EMPTY = (
    "DELETE FROM spools",
    "DELETE FROM segments",
    "DELETE FROM ranges",
    "DELETE FROM transitions",
    "DELETE FROM runs",
)


def is_kept(path: Path) -> bool:
    """Whether a database can be kept there; a home that cannot be written is catalogued in memory.

    SQLite writes beside the file as well, even where it only reads.
    """
    if str(path) == IN_MEMORY:
        return True
    allowed = os.access(path.parent, os.W_OK) and (not path.exists() or os.access(path, os.W_OK))
    return allowed and _has_room(path.parent)


def _has_room(directory: Path) -> bool:
    """Whether the disk is not full; True where the file system does not tell."""
    try:
        told = os.statvfs(directory)
    except OSError:
        return True
    return told.f_blocks == 0 or told.f_bavail * told.f_frsize >= _ROOM_BYTES_MIN


def _connect(path: str, tables: str, version: int) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=BUSY_MS_MAX / 1000, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        _ensure_schema(connection, tables, version)
    except BaseException:
        connection.close()
        raise
    return connection


def _ensure_schema(connection: sqlite3.Connection, tables: str, version: int) -> None:
    if _version(connection) == version:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        if _version(connection) != version:
            _drop_all(connection)
            for statement in tables.strip().split(";"):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {version}")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _version(connection: sqlite3.Connection) -> int:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return int(version)


def _drop_all(connection: sqlite3.Connection) -> None:
    for kind in ("view", "table"):
        names = connection.execute(
            "SELECT name FROM sqlite_schema WHERE type = ? AND name NOT LIKE 'sqlite_%'", (kind,)
        )
        for (name,) in names.fetchall():
            connection.execute(f'DROP {kind} "{name}"')
