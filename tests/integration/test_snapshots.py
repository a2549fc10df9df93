"""Snapshots in S3: stored under their content, found again, within a cut, and passed over where they cannot be used."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import orjson
import pytest

from histories import RUN_ID, history
from services import fresh_backend
from tachograph.core.state import RunState, empty, fold, state_bytes
from tachograph.schemas import Event
from tachograph.stores.archive import SnapshotStore
from tachograph.stores.s3 import Bucket

EVENTS = history(
    "run start; a open; " + "; ".join(f"a state k = {number}" for number in range(20)) + "; a end; run end"
)


@pytest.fixture
def bucket(tmp_path: Path) -> Bucket:
    """A bucket of this test."""
    settings = fresh_backend(tmp_path, "s3").s3
    assert settings is not None
    return Bucket(settings)


def folded(events: list[Event]) -> RunState:
    """What events add up to."""
    state = empty(RUN_ID)
    for event in events:
        fold(state, event)
    return state


def names(bucket: Bucket) -> list[str]:
    """What is in the bucket."""
    return sorted(bucket.names(""))


def test_a_state_comes_back_and_folding_goes_on(bucket: Bucket) -> None:
    """Byte for byte; the pointer says where it is and how far it is."""
    store = SnapshotStore(bucket, "acme/west")
    assert store.newest(RUN_ID) is None
    pointer = store.save(folded(EVENTS[:9]))
    assert pointer.name == names(bucket)[0]
    assert pointer.name.startswith(f"acme%2Fwest/snapshots/{RUN_ID}/{9:012}-")
    assert (pointer.events, pointer.hlc) == (9, EVENTS[8].meta.hlc)
    state = store.newest(RUN_ID)
    assert state is not None
    for event in EVENTS[9:]:
        fold(state, event)
    assert state_bytes(state) == state_bytes(folded(EVENTS))


def test_equal_states_are_stored_once(bucket: Bucket) -> None:
    """And a damaged one is mended by whoever stores it again."""
    store = SnapshotStore(bucket, "acme")
    name = store.save(folded(EVENTS)).name
    assert store.save(folded(EVENTS)).name == name
    assert names(bucket) == [name]
    bucket.mend(name, b"{}")
    assert store.newest(RUN_ID) is None
    store.save(folded(EVENTS))
    assert store.newest(RUN_ID) is not None


def test_the_newest_within_a_cut(bucket: Bucket) -> None:
    """Is the one with the most events that holds none outside of the cut."""
    store = SnapshotStore(bucket, "acme")
    for events in (1, 4, 8, 12, 16, 20):
        store.save(folded(EVENTS[:events]))
    assert store.newest(RUN_ID).events == 20  # type: ignore[union-attr]  # there is one
    for cut in range(len(EVENTS) + 1):
        at = {stream: agent.seq for stream, agent in folded(EVENTS[:cut]).agents.items()}
        state = store.newest(RUN_ID, at)
        best = max((events for events in (1, 4, 8, 12, 16, 20) if events <= cut), default=None)
        assert (None if state is None else state.events) == best


@pytest.mark.parametrize("change", [{"code": "other"}, {"schema": "other"}, {"format": 2}, {"run_id": "r9"}])
def test_what_other_code_made_is_passed_over(bucket: Bucket, change: dict[str, object]) -> None:
    """The one before it is taken, or none."""
    store = SnapshotStore(bucket, "acme")
    store.save(folded(EVENTS[:5]))
    name = store.save(folded(EVENTS)).name
    data = orjson.dumps(orjson.loads(bucket.get(name) or b"") | change, option=orjson.OPT_SORT_KEYS)
    assert bucket.put_new(f"{name.rpartition('-')[0]}-{sha256(data).hexdigest()[:32]}.json", data)
    bucket.remove(name)
    assert store.newest(RUN_ID).events == 5  # type: ignore[union-attr]  # there is one


def test_tenants_do_not_meet(bucket: Bucket) -> None:
    """Not even under one run id."""
    SnapshotStore(bucket, "acme").save(folded(EVENTS))
    assert SnapshotStore(bucket, "other").newest(RUN_ID) is None
