"""Folding payloads in part adds up, byte for byte, to what folding the decoded events adds up to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from any_histories import orders
from histories import RUN_ID
from schemas_support import payload_of
from tachograph.core.state import Folding, Taken, empty, fold, state_bytes, state_from_bytes
from tachograph.schemas import Event

SEEDED = settings(print_blob=True, max_examples=60, deadline=None)

Orders = tuple[list[Event], list[Event]]
NOW_MS = 1_767_225_600_000


def today(event: Event) -> Event:
    """The event with clocks as they are nowadays: those that a picker reads."""
    meta = event.meta
    told = None if meta.logical_time_us is None else NOW_MS * 1000 + meta.logical_time_us
    usual = replace(
        meta, hlc=(NOW_MS << 16) + meta.hlc, recorded_at_us=NOW_MS * 1000 + meta.recorded_at_us, logical_time_us=told
    )
    return replace(event, meta=usual)


def wholly(events: Sequence[Event]) -> bytes:
    """What decoded events add up to."""
    state = empty(RUN_ID)
    for event in events:
        fold(state, event)
    return state_bytes(state)


@SEEDED
@given(orders(), st.booleans(), st.data())
def test_parts_add_up_to_the_whole(both: Orders, modern: bool, data: st.DataObject) -> None:
    """From the start and from a state that was put down, with clocks that pickers know and with those they do not."""
    _, order = both
    events = [today(event) for event in order] if modern else order
    payloads = [payload_of(event) for event in events]
    cut = data.draw(st.integers(0, len(payloads)))
    folding = Folding(empty(RUN_ID))
    assert {folding.add(payload) for payload in payloads[:cut]} <= {Taken.FOLDED}
    assert state_bytes(folding.state) == wholly(events[:cut])
    again = Folding(state_from_bytes(state_bytes(folding.state)))
    assert {again.add(payload) for payload in payloads[cut:]} <= {Taken.FOLDED}
    assert state_bytes(again.state) == wholly(events)


@SEEDED
@given(orders(), st.data())
def test_what_is_known_or_ahead_changes_nothing(both: Orders, data: st.DataObject) -> None:
    """In whichever order events come, each is folded when it is its stream's next, and told apart otherwise."""
    events = [today(event) for event in both[1]]
    folding = Folding(empty(RUN_ID))
    positions: dict[tuple[str, int], int] = {}
    for event in data.draw(st.lists(st.sampled_from(events), max_size=40)):
        meta = event.meta
        stream = (meta.agent_id, meta.incarnation)
        at = positions.get(stream, 0)
        before = state_bytes(folding.state)
        taken = folding.add(payload_of(event))
        if taken is Taken.FOLDED:
            assert meta.seq == at + 1
            positions[stream] = meta.seq
        else:
            assert taken is (Taken.KNOWN if meta.seq <= at else Taken.AHEAD)
            assert state_bytes(folding.state) == before


@SEEDED
@given(orders(), st.data())
def test_gaps_are_folded_over_when_asked(both: Orders, data: st.DataObject) -> None:
    """Then a gap is noted as `fold` notes it."""
    events = [today(event) for event in both[1]]
    kept = [event for event in events if data.draw(st.integers(0, 3))]
    folding = Folding(empty(RUN_ID))
    for event in kept:
        assert folding.add(payload_of(event), over_gaps=True) is Taken.FOLDED
    assert state_bytes(folding.state) == wholly(kept)


@SEEDED
@given(orders(), st.sampled_from(["run_id", "tenant"]))
def test_events_of_others_change_nothing(both: Orders, field: str) -> None:
    """Another run's, or another tenant's under the same run."""
    events = [today(event) for event in both[1]]
    folding = Folding(empty(RUN_ID), tenant=events[0].meta.tenant)
    for known in (False, True):
        before = state_bytes(folding.state)
        for event in events:
            foreign = replace(event, meta=replace(event.meta, **{field: "other"}))
            assert folding.add(payload_of(foreign)) is Taken.FOREIGN
        assert state_bytes(folding.state) == before
        for event in events:
            assert folding.add(payload_of(event)) is (Taken.KNOWN if known else Taken.FOLDED)
