"""Snapshots in S3: a run's folded state, stored under its content so that a fold need not start at the first event."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final, cast

import orjson

from tachograph.core.errors import UnsupportedSchema
from tachograph.core.state import RunState, state_bytes, state_from_bytes
from tachograph.stores.s3 import Bucket, name_part

_LOG: Final = logging.getLogger("tachograph.snapshots")

_FORMAT: Final = 1
_HASH_DIGITS: Final = 32
_EVENTS_DIGITS: Final = 12
_HLC_DIGITS: Final = 20

_ONLY_READ_IT: Final = frozenset(
    {"__init__", "_digest", "_gate_rules", "_hits", "_repeats", "_replayability", "_signatures", "_waiting"}
)
"""Modules of `core.state` that are told by a state; all others decide what it is."""


@dataclass(frozen=True, slots=True)
class SnapshotPointer:
    """Where a snapshot is."""

    tenant: str
    run_id: str
    name: str
    """In the bucket."""
    events: int
    hlc: int
    """Of the latest event in it."""


@dataclass(frozen=True, slots=True)
class _Made:
    """What a snapshot was made by: another fold may come to another state."""

    code: str
    schema: str
    registry: str


class SnapshotStore:
    """The snapshots of a tenant's runs. Safe for several threads.

    Args:
        bucket: where they are.
        tenant: whose.
    """

    def __init__(self, bucket: Bucket, tenant: str) -> None:
        self._bucket = bucket
        self._tenant = tenant

    def save(self, state: RunState) -> SnapshotPointer:
        """Store a run's state; equal states are stored once.

        Raises:
            StoreUnavailable: it cannot be stored.
        """
        data = _document(state)
        digest = hashlib.sha256(data).hexdigest()[:_HASH_DIGITS]
        place = f"{state.events:0{_EVENTS_DIGITS}}-{state.hlc:0{_HLC_DIGITS}}"
        name = f"{self._folder(state.run_id)}{place}-{digest}.json"
        if not self._bucket.put_new(name, data) and self._bucket.get(name) != data:
            self._bucket.mend(name, data)
        return SnapshotPointer(self._tenant, state.run_id, name, state.events, state.hlc)

    def newest(self, run_id: str, at: Mapping[tuple[str, int], int] | None = None) -> RunState | None:
        """The state of a run's newest snapshot that can be used; None where there is none.

        A snapshot that is damaged, or made by code or schemas that are not those of this release, is passed over.

        Args:
            run_id: of the run.
            at: a cut, (agent_id, incarnation) to `seq`: the state holds no event outside of it. By default it holds all.

        Raises:
            StoreUnavailable: the bucket cannot be read.
        """
        names = sorted(self._bucket.names(self._folder(run_id)))
        best: RunState | None = None
        low, high = 0, len(names)
        while low < high:
            # A run's snapshots contain each other: halving finds the newest within the cut in a few reads.
            middle = high - 1 if at is None else (low + high) // 2
            state = self._read(run_id, names[middle])
            if state is None:
                del names[middle]
                high -= 1
            elif at is None:
                return state
            elif _is_within(state, at):
                best = state
                low = middle + 1
            else:
                high = middle
        return best

    def stored(self, run_id: str) -> Sequence[SnapshotPointer]:
        """The snapshots of a run, that of the fewest events first; whether they can be used is not known yet.

        Raises:
            StoreUnavailable: the bucket cannot be read.
        """
        places = ((name, _place_of(name)) for name in sorted(self._bucket.names(self._folder(run_id))))
        return [
            SnapshotPointer(self._tenant, run_id, name, *place)
            for name, place in places if place is not None
        ]  # fmt: skip

    def load(self, pointer: SnapshotPointer) -> RunState | None:
        """The state that a snapshot holds; None where it cannot be used.

        Raises:
            StoreUnavailable: the bucket cannot be read.
        """
        return self._read(pointer.run_id, pointer.name)

    def _read(self, run_id: str, name: str) -> RunState | None:
        data = self._bucket.get(name)
        if data is None:
            return None
        try:
            return _state_of(data, name, run_id)
        except (UnsupportedSchema, ValueError, KeyError, TypeError) as error:
            _LOG.warning("tachograph: the snapshot %s is not used: %s", name, error)
            return None

    def _folder(self, run_id: str) -> str:
        return f"{name_part(self._tenant)}/snapshots/{name_part(run_id)}/"


def _place_of(name: str) -> tuple[int, int] | None:
    """Events and hlc, as a snapshot's name says them; None where it says nothing."""
    parts = name.rpartition("/")[2].split("-")
    return (int(parts[0]), int(parts[1])) if len(parts) > 2 and parts[0].isdigit() and parts[1].isdigit() else None


def _is_within(state: RunState, at: Mapping[tuple[str, int], int]) -> bool:
    return all(agent.seq <= at.get(stream, 0) for stream, agent in state.agents.items())


def _document(state: RunState) -> bytes:
    made = _made_by()
    told = {
        "format": _FORMAT,
        "run_id": state.run_id,
        "code": made.code,
        "schema": made.schema,
        "registry": made.registry,
        "state": orjson.Fragment(state_bytes(state)),
    }
    return orjson.dumps(told, option=orjson.OPT_SORT_KEYS)


def _state_of(data: bytes, name: str, run_id: str) -> RunState:
    digest = hashlib.sha256(data).hexdigest()[:_HASH_DIGITS]
    if not name.endswith(f"-{digest}.json"):
        raise ValueError("its bytes are not those that it is named after")
    told = cast("Mapping[str, object]", orjson.loads(data))
    if told["format"] != _FORMAT or told["run_id"] != run_id:
        raise ValueError("it is of another format, or of another run")
    if _Made(str(told["code"]), str(told["schema"]), str(told["registry"])) != _made_by():
        raise ValueError("it was made by other code or schemas; the run is folded from its events again")
    return state_from_bytes(orjson.dumps(told["state"], option=orjson.OPT_SORT_KEYS))


@cache
def _made_by() -> _Made:
    """Hashes of the code that folds, of the schemas, and of the ids that they have in the registry of this release."""
    code = hashlib.sha256()
    for file in _sorted(files("tachograph.core.state")):
        if file.name.endswith(".py") and file.name.removesuffix(".py") not in _ONLY_READ_IT:
            code.update(file.read_bytes())
    schema = hashlib.sha256()
    folder = files("tachograph.schemas").joinpath("avro")
    for file in _sorted(folder):
        if file.name.endswith(".avsc"):
            schema.update(file.read_bytes())
    registry = hashlib.sha256(folder.joinpath("ids.json").read_bytes())
    return _Made(*(hashed.hexdigest()[:_HASH_DIGITS] for hashed in (code, schema, registry)))


def _sorted(folder: Traversable) -> list[Traversable]:
    return sorted(folder.iterdir(), key=lambda file: file.name)
