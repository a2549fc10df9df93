"""Ports to where events, bodies and derived facts are kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from tachograph.schemas import EffectState, quick


class EventSink(Protocol):
    """Where a recorder's writer puts events; one writer, one thread."""

    def append(self, payloads: Sequence[bytes]) -> None:
        """Hand the payloads to the operating system, in order.

        Raises:
            SpoolUnwritable: they could not be written; the log ends at the last whole frame before them.
        """
        ...

    def sync(self) -> None:
        """Make everything appended durable.

        Raises:
            SpoolUnwritable: it may not be durable; nothing more can be appended.
        """
        ...

    def close(self) -> None:
        """Seal the log."""
        ...


@quick
@dataclass(frozen=True, slots=True)
class Stored:
    """One event as it lies in the log."""

    payload: bytes
    segment: str
    """The segment's path below the log's directory."""
    offset: int
    """Of the frame, in bytes."""


class EventLog(Protocol):
    """Read access to recorded events."""

    def run_ids(self) -> Iterable[str]:
        """The runs, oldest first."""
        ...

    def read_run(self, run_id: str) -> Iterator[Stored]:
        """A run's events; every stream's in order of `seq`.

        Raises:
            UnknownRun: there is no such run.
            CorruptFrame: the bytes are not what was written.
        """
        ...


class ObjectStore(Protocol):
    """Content-addressed objects; a key is written once and never changes."""

    def put(self, key: bytes, data: bytes) -> None:
        """Store durably what may be there already.

        Raises:
            StoreUnavailable: it could not be stored.
        """
        ...

    def get(self, key: bytes) -> bytes | None:
        """The object, or None."""
        ...

    def keys(self) -> Iterator[bytes]:
        """Every key."""
        ...


@dataclass(frozen=True, slots=True)
class PastEffect:
    """What the ledger knows of an effect."""

    effect_id: str
    tenant: str
    name: str
    idempotency_key: str
    state: EffectState


class PastEffects(Protocol):
    """Effects of earlier runs and processes."""

    def find(self, tenant: str, name: str, idempotency_key: str) -> PastEffect | None:
        """The effect under this key that counts: the latest that is not FAILED."""
        ...

    def state(self, effect_id: str) -> EffectState | None:
        """Where an effect stands, whoever moved it last; None where it is not known."""
        ...
