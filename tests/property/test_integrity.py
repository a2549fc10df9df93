"""Streams recounted, against a slow model that keeps every event: duplicates, reorders, gaps, forks, edits, restarts."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audits import head_of
from chains import Chain, Clock
from tachograph.core.causality import GENESIS
from tachograph.core.errors import CorruptPayload
from tachograph.core.findings import Condition
from tachograph.core.integrity import Head, Limits, PartitionAudit, StreamAudit, StreamKey, Verdict

KEY = StreamKey("acme", "run-1", "agent", 1)
HOUR = 3_600_000


def _stream(length: int, run_id: str = "run-1", agent_id: str = "agent", clock: Clock | None = None) -> list[Head]:
    chain = Chain(run_id, agent_id, clock or Clock())
    payloads = [chain.agent_started()]
    payloads += [chain.call_started("tool", {"n": number}) for number in range(length - 1)]
    return [head_of(payload) for payload in payloads]


def _forked(length: int, at: int) -> tuple[list[Head], list[Head]]:
    """A stream, and one that leaves it behind `at`."""
    chain = Chain("run-1", "agent", Clock())
    common = [chain.agent_started(), *(chain.call_started("tool", {"n": number}) for number in range(at - 1))]
    other = chain.fork()
    one = [chain.call_started("tool", {"side": 1}) for _ in range(length)]
    two = [other.call_started("tool", {"side": 2}) for _ in range(length)]
    return [head_of(payload) for payload in common + one], [head_of(payload) for payload in two]


def _changed(head: Head) -> Head:
    return head._replace(content=head.content + b"!")


def _restarted(audit: StreamAudit) -> StreamAudit:
    return StreamAudit.from_json(audit.to_json())


@given(data=st.data(), length=st.integers(1, 40))
def test_what_came_is_what_is_counted(data: st.DataObject, length: int) -> None:
    """Whatever order and number the events come in: the different ones are counted, and what lacks is told."""
    heads = _stream(length)
    came = data.draw(st.lists(st.sampled_from(heads), min_size=1, max_size=80))
    audit = StreamAudit()
    verdicts = [audit.add(head) for head in came]
    there = {head.seq for head in came}
    state = audit.state
    assert state.events == len(there)
    assert state.seq == max(there)
    assert state.condition is (Condition.INTACT if len(there) == max(there) else Condition.GAPPED)
    repeats = [verdict for verdict in verdicts if verdict not in {Verdict.NEW, Verdict.EARLY}]
    assert set(repeats) <= {Verdict.DUPLICATE, Verdict.UNPROVED}
    assert len(repeats) == len(came) - len(there)
    if len(there) == max(there):
        assert Verdict.UNPROVED not in [audit.add(head) for head in came]


@given(data=st.data(), length=st.integers(2, 40))
def test_a_restart_changes_no_count(data: st.DataObject, length: int) -> None:
    """The audit goes on from its bytes; only what waits for its predecessor stays unproved."""
    heads = _stream(length)
    came = data.draw(st.lists(st.sampled_from(heads), min_size=1, max_size=60))
    stop = data.draw(st.integers(0, len(came)))
    whole, restarted = StreamAudit(), StreamAudit()
    for number, head in enumerate(came):
        whole.add(head)
        if number == stop:
            restarted = _restarted(restarted)
        restarted.add(head)
    one, other = whole.state, restarted.state
    assert dataclasses.replace(one, problems=(), duplicates=0) == dataclasses.replace(other, problems=(), duplicates=0)
    assert restarted.unproved >= whole.unproved


@given(data=st.data(), length=st.integers(2, 40))
def test_a_change_never_goes_unseen(data: st.DataObject, length: int) -> None:
    """An event whose bytes do not have its hash: in any order of coming, unless its predecessor is missing."""
    heads = _stream(length)
    target = data.draw(st.integers(0, length - 1))
    came = [_changed(head) if number == target else head for number, head in enumerate(heads)]
    came = data.draw(st.permutations(came))
    audit = StreamAudit()
    for head in came:
        audit.add(head)
    assert audit.state.condition is Condition.BROKEN


@given(data=st.data(), common=st.integers(1, 10), length=st.integers(1, 10))
def test_both_histories_of_a_fork_are_counted(data: st.DataObject, common: int, length: int) -> None:
    """In any interleaving that keeps each side's order, with duplicates: every event once, and FORKED."""
    main, side = _forked(length, common)
    came: list[Head] = []
    rest = [list(main), list(side)]
    while rest[0] or rest[1]:
        open_sides = [0] if len(rest[0]) > length else [number for number in (0, 1) if rest[number]]
        came.append(rest[data.draw(st.sampled_from(open_sides))].pop(0))
        if data.draw(st.booleans()):
            came.append(data.draw(st.sampled_from(came)))
    audit = StreamAudit()
    for head in came:
        audit.add(head)
    assert audit.state.condition is Condition.FORKED
    assert audit.state.events == common + 2 * length


def test_a_duplicate_with_other_bytes_is_no_duplicate() -> None:
    """Though it states the same hash."""
    audit = StreamAudit()
    heads = _stream(3)
    for head in heads:
        audit.add(head)
    assert audit.add(_changed(heads[1])) is Verdict.BROKEN
    assert audit.add(heads[1]) is Verdict.DUPLICATE


def test_memory_stays_bounded_where_an_event_never_comes() -> None:
    """What is missing counts as lost in the end, and counting goes on."""
    audit = StreamAudit()
    heads = _stream(3000)
    for head in heads[1:]:
        audit.add(head)
    state = audit.state
    assert (state.condition, state.events, state.seq) == (Condition.GAPPED, 2999, 3000)
    assert len(str(audit.to_json())) < 300_000
    assert audit.add(heads[0]) is Verdict.UNPROVED


def test_an_event_behind_the_end_is_late() -> None:
    """Of the stream, or of its run; it is counted all the same."""
    chain = Chain("run-1", "agent", Clock())
    audit = StreamAudit()
    for payload in (chain.agent_started(), chain.agent_finished()):
        assert audit.add(head_of(payload)) is Verdict.NEW
    assert audit.add(head_of(chain.call_started("tool", {}))) is Verdict.LATE
    assert (audit.state.condition, audit.state.events) == (Condition.LATE, 3)
    assert StreamAudit().add(_stream(1)[0], closed=True) is Verdict.LATE


@pytest.mark.parametrize("seq", [0, -5])
def test_a_place_that_cannot_be_is_broken(seq: int) -> None:
    """Numbers begin with 1."""
    assert StreamAudit().add(_stream(1)[0]._replace(seq=seq)) is Verdict.BROKEN


def test_a_schema_that_is_not_known_is_counted_unchecked() -> None:
    """Its hash is made over a name that is not known."""
    first, second = _stream(2)
    audit = StreamAudit()
    assert audit.add(_changed(first)._replace(tag=None)) is Verdict.NEW
    assert audit.add(second) is Verdict.NEW


def _key(run_id: str) -> StreamKey:
    return StreamKey("acme", run_id, "agent", 1)


def _feed(audit: PartitionAudit, run_ids: Sequence[str], clock: Clock, length: int = 3) -> None:
    for run_id in run_ids:
        for head in _stream(length, run_id, clock=clock):
            audit.add(_key(run_id), head, clock.ms << 16)


def test_quiet_runs_are_let_go_of_and_known_again() -> None:
    """An hour of the log's own time behind; what comes then is late."""
    audit, clock = PartitionAudit(), Clock()
    first = _stream(3, "run-1", clock=clock)
    for head in first:
        audit.add(_key("run-1"), head, clock.ms << 16)
    assert list(audit.close_quiet()) == []
    clock.ms += 2 * HOUR
    _feed(audit, ["run-2"], clock)
    assert list(audit.close_quiet()) == [("acme", "run-1")]
    assert len(audit) == 1
    again = PartitionAudit.from_bytes(audit.to_bytes())
    chain = Chain("run-1", "agent", clock)
    chain.seq, chain.head = 3, first[-1].hash
    assert again.add(_key("run-1"), first[-1], clock.ms << 16) is Verdict.UNPROVED
    assert again.add(_key("run-1"), head_of(chain.call_started()), clock.ms << 16) is Verdict.LATE
    assert again.audit(_key("run-1")).state.events == 4


def test_open_streams_are_bounded() -> None:
    """The one that was quiet longest goes first, and is known again when it goes on."""
    audit, clock = PartitionAudit(Limits(streams_max=10, closed_max=20)), Clock()
    _feed(audit, [f"run-{number}" for number in range(100)], clock)
    list(audit.close_quiet())
    assert len(audit) == 10
    assert len(PartitionAudit.from_bytes(audit.to_bytes(), Limits(streams_max=10, closed_max=20)).to_bytes()) < 20_000
    run_85 = _stream(4, "run-85", clock=Clock(clock.ms))
    assert audit.add(_key("run-85"), run_85[3]._replace(tag=None), clock.ms << 16) is Verdict.NEW


def test_a_partition_that_is_not_counted_from_its_start_misses_nothing_before() -> None:
    """What was before may have been there."""
    audit = PartitionAudit(from_start=False)
    heads = _stream(5)
    assert audit.add(KEY, heads[3], 1) is Verdict.NEW
    assert audit.add(KEY, heads[4], 1) is Verdict.NEW
    assert audit.audit(KEY).state.condition is Condition.INTACT
    assert heads[0].fits(GENESIS)


@given(data=st.binary(max_size=60))
def test_bytes_that_are_no_audit_are_refused(data: bytes) -> None:
    """Rather than counted from."""
    with pytest.raises(CorruptPayload, match="the state of an audit"):
        PartitionAudit.from_bytes(data)


def test_what_changed_is_told_once() -> None:
    """Until it goes on."""
    audit, clock = PartitionAudit(), Clock()
    _feed(audit, ["run-1", "run-2"], clock)
    assert [key.run_id for key, _ in audit.changed()] == ["run-1", "run-2"]
    assert list(audit.changed()) == []
    _feed(audit, ["run-3"], clock)
    assert [key.run_id for key, _ in audit.changed()] == ["run-3"]
