"""Stores that live in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tachograph.core.errors import SpoolUnwritable, UnknownRun
from tachograph.core.ports import PastEffect, Stored
from tachograph.schemas import EffectState, decode_meta


class MemoryObjects:
    """An `ObjectStore` in memory."""

    def __init__(self) -> None:
        self._objects: dict[bytes, bytes] = {}

    def put(self, key: bytes, data: bytes) -> None:
        """Store what may be there already."""
        self._objects.setdefault(key, data)

    def get(self, key: bytes) -> bytes | None:
        """The object, or None."""
        return self._objects.get(key)

    def keys(self) -> Iterator[bytes]:
        """Every key, in order of storing."""
        return iter(tuple(self._objects))

    def replace(self, key: bytes, data: bytes | None) -> None:
        """Damage an object, or with None lose it."""
        if data is None:
            del self._objects[key]
        else:
            self._objects[key] = data


class MemoryLog:
    """An `EventSink` and `EventLog` in memory; `fail_after` appends it behaves like a full disk."""

    def __init__(self, fail_after: int | None = None) -> None:
        self.payloads: list[bytes] = []
        self.synced = 0
        """How many payloads are durable."""
        self.closed = False
        self._appends_left = fail_after

    def append(self, payloads: Sequence[bytes]) -> None:
        """Take payloads in.

        Raises:
            SpoolUnwritable: `fail_after` appends have been made, or the log is closed.
        """
        if self.closed or self._appends_left == 0:
            raise SpoolUnwritable("memory", "the log is closed" if self.closed else "no space left on device")
        if self._appends_left is not None:
            self._appends_left -= 1
        self.payloads.extend(payloads)

    def sync(self) -> None:
        """Make everything appended durable."""
        self.synced = len(self.payloads)

    def close(self) -> None:
        """Seal the log."""
        self.sync()
        self.closed = True

    def run_ids(self) -> Iterable[str]:
        """The runs, oldest first."""
        return tuple(dict.fromkeys(decode_meta(payload).run_id for payload in self.payloads))

    def read_run(self, run_id: str) -> Iterator[Stored]:
        """A run's events as they were appended.

        Raises:
            UnknownRun: there is no such run.
        """
        if run_id not in self.run_ids():
            raise UnknownRun(run_id, "memory")
        return self._stored(run_id)

    def _stored(self, run_id: str) -> Iterator[Stored]:
        offset = 0
        for payload in self.payloads:
            if decode_meta(payload).run_id == run_id:
                yield Stored(payload, "memory", offset)
            offset += len(payload)


class MemoryEffects:
    """`PastEffects` in memory."""

    def __init__(self, effects: Iterable[PastEffect] = ()) -> None:
        self._effects = list(effects)

    def add(self, effect: PastEffect) -> None:
        """Take note of where an effect stands now."""
        self._effects = [known for known in self._effects if known.effect_id != effect.effect_id]
        self._effects.append(effect)

    def find(self, tenant: str, name: str, idempotency_key: str) -> PastEffect | None:
        """The latest effect under this key that is not FAILED."""
        for effect in reversed(self._effects):
            key = (effect.tenant, effect.name, effect.idempotency_key)
            if key == (tenant, name, idempotency_key) and effect.state is not EffectState.FAILED:
                return effect
        return None

    def state(self, effect_id: str) -> EffectState | None:
        """Where an effect stands, as it was noted last."""
        return next((effect.state for effect in self._effects if effect.effect_id == effect_id), None)
