"""The state of an archived run at any cut: from the nearest snapshot and its tail it is what reading all of it gives."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from archived import archive, records_of
from chains import small_fleet
from random_fleet import RandomFleet
from services import fresh_backend
from tachograph.core.causality import EventId
from tachograph.core.cut import Causality, Cut, UnknownEvent, cut_at_event, cut_at_positions, cut_at_time
from tachograph.core.errors import CorruptFrame
from tachograph.core.replay import step_positions
from tachograph.core.state import Folding, empty, state_bytes
from tachograph.schemas import decode, decode_meta
from tachograph.stores import (
    At,
    FleetState,
    Home,
    SpoolWriter,
    archived_positions,
    archived_step,
    causality_of,
    positions_at,
    state_at,
    state_from_snapshot,
)
from tachograph.stores.archive import SnapshotStore, compact_run, segments_prefix, write_segment
from tachograph.stores.archive._avro import opening_of, pages_span
from tachograph.stores.s3 import Bucket

EXAMPLES = 100 if os.environ.get("TACHO_NIGHTLY") == "1" else 4

_numbers = count()


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A home that recorded nothing, before an archive."""
    directory = tmp_path_factory.mktemp("cuts")
    return Home.open(directory / "home", create=True, backend=fresh_backend(directory, "s3"))


@dataclass(frozen=True)
class Archived:
    """A run in the archive, alone in a partition."""

    home: Home
    run_id: str
    partition: int
    payloads: Sequence[bytes]

    @property
    def place(self) -> str:
        """The partition, as offsets name it."""
        return f"tacho.events/{self.partition}"

    @property
    def bucket(self) -> Bucket:
        """Where it lies."""
        assert self.home.archive is not None
        return self.home.archive.bucket

    def quick(self, at: At) -> FleetState | None:
        """The state from the nearest snapshot."""
        return state_from_snapshot(self.home, self.run_id, at)

    def state(self, at: At) -> bytes:
        """The same as bytes."""
        quick = self.quick(at)
        assert quick is not None
        return state_bytes(quick.runs[self.run_id])

    def whole(self, at: At) -> FleetState:
        """The state from the first event on."""
        if at is None:
            make = _end
        elif isinstance(at, EventId):
            make = partial(cut_at_event, event_id=at)
        else:
            make = partial(cut_at_time, hlc=at) if isinstance(at, int) else partial(cut_at_positions, positions=at)
        return state_at(self.home.log, [self.run_id], make)

    def is_same(self, at: At) -> bool:
        """Whether both are equal, byte for byte, with what is told of the cut."""
        quick, whole = self.quick(at), self.whole(at)
        assert quick is not None
        assert quick.proof.is_closed
        assert quick.cut == whole.cut
        assert quick.proof.events == whole.proof.events
        return state_bytes(quick.runs[self.run_id]) == state_bytes(whole.runs[self.run_id])

    def snapshot(self, payloads: Sequence[bytes]) -> None:
        """Store the state after some events."""
        assert isinstance(self.home.snapshots, SnapshotStore)
        folding = Folding(empty(self.run_id))
        for payload in payloads:
            folding.add(payload)
        self.home.snapshots.save(folding.state)


def _archived(home: Home, payloads: Sequence[bytes], size: int) -> Archived:
    run = Archived(home, decode_meta(payloads[0]).run_id, next(_numbers), payloads)
    archive(run.bucket, payloads, tenant="default", partition=run.partition, size=size)
    return run


def _fleet(seed: int | Random, agents: int, events: int) -> list[bytes]:
    rng = seed if isinstance(seed, Random) else Random(seed)
    return RandomFleet(rng, agents, f"run-{next(_numbers)}").write(events)


def _event_id(payload: bytes) -> EventId:
    meta = decode_meta(payload)
    return EventId(meta.run_id, meta.agent_id, meta.incarnation, meta.seq)


def _end(known: Causality) -> Cut:
    return Cut({stream: known.last(stream) for stream in known.streams()})


def _known(payloads: Sequence[bytes]) -> Causality:
    known = Causality()
    for payload in payloads:
        meta = decode_meta(payload)
        causes = [EventId(one.run_id, one.agent_id, one.incarnation, one.seq) for one in meta.causes]
        known.add(_event_id(payload), meta.hlc, causes)
    return known


def _closed(payloads: Sequence[bytes], rng: Random) -> list[bytes]:
    """A closed set of events, as a fold may hold it: agents are at different times."""
    known = _known(payloads)
    cut = cut_at_positions(known, {stream: rng.randint(0, known.last(stream)) for stream in known.streams()})
    return [payload for payload in payloads if cut.holds(_event_id(payload))]


def _knows_all(payloads: Sequence[bytes], count: int) -> int:
    """Number of the first event that could have known all of so many events."""
    known = _known(payloads)
    return next(
        at
        for at in range(count, len(payloads))
        if all(map(cut_at_event(known, _event_id(payloads[at])).holds, map(_event_id, payloads[:count])))
    )


@given(st.integers(0, 1 << 32), st.integers(20, 120), st.integers(2, 7), st.integers(5, 40))
@settings(
    max_examples=EXAMPLES, deadline=None, print_blob=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_every_cut_of_every_fleet_is_what_the_whole_run_gives(
    home: Home, seed: int, events: int, agents: int, size: int
) -> None:
    """Times, events, offsets, steps and the end; over snapshots of times and such in which agents are apart."""
    rng = Random(seed)
    payloads = _fleet(rng, agents, events)
    run = _archived(home, payloads, size)
    for _ in range(rng.randint(0, 3)):
        run.snapshot(payloads[: rng.randint(1, events)])
        run.snapshot(_closed(payloads, rng))
    for payload in rng.sample(payloads, 6):
        assert run.is_same(decode_meta(payload).hlc)
        assert run.is_same(_event_id(payload))
    for offset in (0, size, rng.randint(0, events), events + size):
        text = f"{run.place}:{offset}"
        positions = archived_positions(home, run.run_id, text)
        assert positions == positions_at(home.log, [run.run_id], text)
        assert run.is_same(positions)
    assert run.is_same(None)
    for (agent, life), seqs in step_positions(map(decode, payloads)).items():
        found = [archived_step(home, run.run_id, agent, life, number) for number in range(1, len(seqs) + 1)]
        assert [one.event_id.seq for one in found if one is not None and one.event_id is not None] == list(seqs)
        beyond = archived_step(home, run.run_id, agent, None, len(seqs) + 1)
        assert beyond is not None
        assert (beyond.steps, beyond.event_id) == (len(seqs), None)


def test_only_what_lies_between_the_snapshot_and_the_cut_is_read(home: Home) -> None:
    """Segments before and behind may be gone: whoever reads the run from its first event fails."""
    payloads = _fleet(4, 2, 300)
    run = _archived(home, payloads, 10)
    run.snapshot(payloads[:200])
    number = _knows_all(payloads, 200)
    cuts: list[At] = [_event_id(payloads[number]), decode_meta(payloads[number]).hlc]
    cuts.append(archived_positions(home, run.run_id, f"{run.place}:{number}"))
    expected = [run.state(at) for at in cuts]
    names = sorted(run.bucket.names(segments_prefix("default", "tacho.events", run.partition)))
    for name in (*names[:20], *names[number // 10 + 1 :]):
        run.bucket.remove(name)
    assert [run.state(at) for at in cuts] == expected
    with pytest.raises(CorruptFrame, match="no longer there"):
        causality_of(home.log, [run.run_id])


def test_a_run_in_one_segment_is_read_in_part(home: Home) -> None:
    """A compacted run of many blocks has pages as well, and events in two segments count once."""
    payloads = _fleet(5, 4, 6_000)
    run = _archived(home, payloads, 2_500)
    assert home.archive is not None
    before = run.state(_event_id(payloads[5_000]))
    assert compact_run(run.bucket, home.archive, run.run_id) is not None
    home.archive.refresh()
    pages = home.archive.pages(run.run_id)
    assert pages is not None
    assert len({page.name for page in pages.pages}) == 1
    assert [page.events for page in pages.pages] == [2_048, 2_048, 1_904]
    run.snapshot(payloads[:4_500])
    assert run.state(_event_id(payloads[5_000])) == before
    assert run.is_same(_event_id(payloads[5_900]))


def test_a_snapshot_that_lacks_a_late_event_is_built_on(home: Home) -> None:
    """An event that the fold had not got, with a clock before the snapshot's, is behind the snapshot as any other."""
    payloads = _fleet(6, 3, 100)
    run = _archived(home, payloads, 9)
    held = _closed(payloads[:80], Random(7))
    assert max(decode_meta(payload).hlc for payload in held) > decode_meta(payloads[len(held)]).hlc
    run.snapshot(held)
    assert run.is_same(None)


def test_a_snapshot_of_other_events_than_the_archive_has_is_passed_over(home: Home) -> None:
    """Of a fork of history the fold took one side and the archive holds both: then nothing is built on it."""
    run_id = f"run-{next(_numbers)}"
    payloads, other = small_fleet(run_id, calls=10), small_fleet(run_id, calls=11)
    run = _archived(home, payloads, 10)
    write_segment(run.bucket, "default", "tacho.events", run.partition, records_of([other[-1]], 900))
    run.snapshot(payloads)
    assert run.is_same(None)


def test_overlapping_segments_change_nothing(home: Home) -> None:
    """As a processor leaves them that was killed before it committed."""
    payloads = _fleet(8, 3, 60)
    run = _archived(home, payloads, 10)
    write_segment(run.bucket, "default", "tacho.events", run.partition, records_of(payloads[25:45], 25))
    run.snapshot(payloads[:50])
    assert run.is_same(None)
    assert run.is_same(_event_id(payloads[55]))


def test_a_segment_that_does_not_tell_is_read_whole(home: Home) -> None:
    """As those of earlier releases; what it tells may also be damaged."""
    run = _archived(home, _fleet(9, 3, 60), 30)
    name = max(run.bucket.names(segments_prefix("default", "tacho.events", run.partition)))
    data = run.bucket.get(name)
    assert data is not None
    span = pages_span(data, opening_of(data, name))
    assert span is not None
    start, size = span
    run.bucket.mend(name, data[:start] + b"\xff" * size + data[start + size :])
    assert run.quick(None) is None
    assert archived_step(home, run.run_id, "run", None, 1) is None
    assert run.whole(None).proof.events == 60


def test_a_gap_is_read_whole(home: Home) -> None:
    """Whether it lies within a segment or between two."""
    payloads = _fleet(10, 1, 60)
    within = _archived(home, [*payloads[:25], *payloads[26:]], 30)
    assert within.quick(None) is None
    other = _fleet(10, 1, 60)
    between = _archived(home, [*other[:30], *other[31:]], 30)
    assert between.quick(None) is None
    assert between.whole(None).runs[between.run_id].gaps == {("run", 1, 31, 31)}


def test_an_event_that_is_not_there_is_told(home: Home) -> None:
    """Without reading the run."""
    run = _archived(home, small_fleet(f"run-{next(_numbers)}"), 10)
    with pytest.raises(UnknownEvent, match=r"triage#1\.99"):
        run.quick(EventId(run.run_id, "triage", 1, 99))


def test_what_this_machine_has_recorded_itself_is_read_whole(home: Home) -> None:
    """Its spools may hold more of the run than the archive."""
    run = _archived(home, small_fleet(f"run-{next(_numbers)}"), 10)
    with SpoolWriter(home.path / "log") as writer:
        writer.append(run.payloads[:4])
    assert run.quick(None) is None
    assert archived_positions(home, run.run_id, f"{run.place}:5") is None
    assert archived_step(home, run.run_id, "triage", None, 1) is None
