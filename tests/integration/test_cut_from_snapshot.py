"""The state of an archived run at a time: from the nearest snapshot and its tail it is what reading all of it gives."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from archived import archive
from chains import Clock, small_fleet
from services import fresh_backend
from tachograph.core.cut import Causality, Cut, cut_at_time
from tachograph.core.state import Folding, empty, state_bytes
from tachograph.schemas import decode_meta
from tachograph.stores import FleetState, Home, SpoolWriter, state_at, state_from_snapshot
from tachograph.stores.archive import SnapshotStore
from tachograph.stores.s3 import Bucket

RUN = "run-1"
CALLS = 60


@pytest.fixture(scope="module")
def events() -> list[bytes]:
    """One run, with a neighbour between its events."""
    clock = Clock()
    ours = small_fleet(RUN, clock=clock, calls=CALLS)
    return ours


@pytest.fixture(scope="module")
def home(events: list[bytes], tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A home that recorded nothing; the archive has the run, and snapshots at a quarter and a half of it."""
    directory = tmp_path_factory.mktemp("snapshots")
    backend = fresh_backend(directory, "s3")
    assert backend.s3 is not None
    archive(Bucket(backend.s3), events, tenant="default", size=7)
    opened = Home.open(directory / "home", create=True, backend=backend)
    for count in (len(events) // 4, len(events) // 2):
        _snapshot(opened, events[:count])
    return opened


def _snapshot(home: Home, payloads: list[bytes]) -> None:
    assert isinstance(home.snapshots, SnapshotStore)
    folding = Folding(empty(RUN))
    for payload in payloads:
        folding.add(payload)
    home.snapshots.save(folding.state)


def _whole(home: Home, hlc: int | None) -> FleetState:
    return state_at(home.log, [RUN], _end if hlc is None else partial(cut_at_time, hlc=hlc))


def _end(known: Causality) -> Cut:
    return Cut({stream: known.last(stream) for stream in known.streams()})


def _same(quick: FleetState | None, whole: FleetState) -> bool:
    assert quick is not None
    assert quick.proof.is_closed
    assert quick.cut == whole.cut
    assert quick.proof.events == whole.proof.events
    return state_bytes(quick.runs[RUN]) == state_bytes(whole.runs[RUN])


def test_every_time_behind_a_snapshot_gives_the_same_state(home: Home, events: list[bytes]) -> None:
    """Byte for byte, cut and counts included; and so does the end."""
    for payload in events[len(events) // 4 :: 5]:
        hlc = decode_meta(payload).hlc
        assert _same(state_from_snapshot(home, RUN, hlc), _whole(home, hlc))
    assert _same(state_from_snapshot(home, RUN, None), _whole(home, None))


def test_before_the_first_snapshot_there_is_nothing_to_build_on(home: Home, events: list[bytes]) -> None:
    """Then the run is read from its beginning."""
    assert state_from_snapshot(home, RUN, decode_meta(events[3]).hlc) is None


def test_a_snapshot_that_lacks_a_late_event_is_not_built_on(tmp_path: Path) -> None:
    """An event that the fold had not got, with a clock before the snapshot's, would be missing from every later state."""
    backend = fresh_backend(tmp_path, "s3")
    assert backend.s3 is not None
    payloads = small_fleet(RUN, clock=Clock(), calls=10)
    archive(Bucket(backend.s3), payloads, tenant="default")
    home = Home.open(tmp_path / "home", create=True, backend=backend)
    late = next(at for at, payload in enumerate(payloads) if at > 5 and decode_meta(payload).agent_id != "run")
    stream = decode_meta(payloads[late])
    early = [
        payload
        for payload in payloads[: late + 8]
        if (decode_meta(payload).agent_id, decode_meta(payload).seq) < (stream.agent_id, stream.seq)
        or decode_meta(payload).agent_id != stream.agent_id
    ]
    _snapshot(home, early)
    assert state_from_snapshot(home, RUN, None) is None


def test_what_this_machine_has_recorded_itself_is_read_whole(home: Home, events: list[bytes], tmp_path: Path) -> None:
    """Its spools may hold more of the run than the archive."""
    assert home.archive is not None
    with SpoolWriter(home.path / "log") as writer:
        writer.append(events[:4])
    assert state_from_snapshot(home, RUN, None) is None
