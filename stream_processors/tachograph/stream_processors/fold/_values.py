"""What a fold reads and what it asks for, as values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import orjson

from tachograph.core.errors import CorruptPayload
from tachograph.core.findings import Finding
from tachograph.core.state import RunState

_FORMAT = 2


class Past(Protocol):
    """What was stored of runs before."""

    def newest(self, tenant: str, run_id: str) -> RunState | None:
        """A run's newest snapshot that can be used."""
        ...

    def history(self, tenant: str, run_id: str) -> Iterable[bytes]:
        """The payloads of a run that are archived, every stream's in order; none where it is not known."""
        ...

    def archived(self, tenant: str, run_id: str) -> int:
        """How many those are at most: some may be counted twice."""
        ...


class Poison(NamedTuple):
    """A record that is no event of its run."""

    offset: int
    reason: str


class Open(NamedTuple):
    """A run that is not over, or some of whose records may be read again."""

    tenant: str
    hlc: int
    """Of its latest event."""
    events: int
    """As many as came up to `last`: what is taken up again must not have less of them."""
    last: int
    """Offset of its latest record."""
    over: bool = False
    """Whether nothing has to be known of it once its latest record is passed."""


@dataclass(frozen=True, slots=True)
class Book:
    """What a partition's fold has to know beside the runs' snapshots, as of a committed offset."""

    clock: int = 0
    """The highest hlc in the partition so far."""
    open: dict[str, Open] = field(default_factory=dict[str, Open])
    """Runs with a snapshot, by id."""


def book_bytes(book: Book) -> bytes:
    """A book as JSON; equal books give equal bytes."""
    rows = sorted([run_id, *run] for run_id, run in book.open.items())
    return orjson.dumps({"clock": book.clock, "format": _FORMAT, "open": rows})


def book_of(data: bytes) -> Book:
    """The inverse of `book_bytes`.

    Raises:
        CorruptPayload: it is none.
    """
    try:
        read = orjson.loads(data)
        if read["format"] != _FORMAT:
            raise CorruptPayload("a fold's book", 0, f"its format is {read['format']!r}")
        return Book(int(read["clock"]), {str(run_id): _open(*row) for run_id, *row in read["open"]})
    except (ValueError, KeyError, TypeError) as error:
        raise CorruptPayload("a fold's book", 0, f"it does not read as one: {error}") from error


def _open(tenant: str, hlc: int, events: int, last: int, over: bool) -> Open:
    return Open(str(tenant), int(hlc), int(events), int(last), bool(over))


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What is to be done, in this order, before the next record is added: then the offset may be committed."""

    findings: tuple[Finding, ...]
    """To publish. They come before the snapshots: what a snapshot holds has been told."""
    poison: tuple[Poison, ...]
    """To set aside."""
    snapshots: tuple[RunState, ...]
    """To store; they go on changing with the next record."""
    book: Book
    """To store, for whoever goes on at the offset."""
    offset: int
    """Of the record to be read next after a restart."""


@dataclass(frozen=True, slots=True)
class FoldStatistics:
    """Counters of one partition's fold."""

    folded: int
    """Records that were added."""
    poison: int
    loaded: int
    """Runs in memory."""
    away: int
    """Runs that are not over and not in memory."""
    held: int
    """Events that wait for those before them."""
    pending: int
    """Runs that would have to be read again, in part, after a crash."""
    gaps: int
    """How often events were folded without those before them."""
    restored: int
    """Runs that were taken up from a snapshot."""
    refolded: int
    """Runs that were folded from the archive."""
    snapshots: int
    findings: int
