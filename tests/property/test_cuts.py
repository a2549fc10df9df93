"""A cut is closed, whatever the clocks, the partitions and the order of reading; cones are what a plain search finds."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from tachograph.core.causality import EventId, HybridClock
from tachograph.core.cut import (
    Causality,
    Cut,
    Outline,
    Stream,
    cut_at_event,
    cut_at_positions,
    cut_at_time,
    future,
    past,
    proof,
)

EXAMPLES = 2_000 if os.environ.get("TACHO_NIGHTLY") == "1" else 150
SEEDED = settings(print_blob=True, max_examples=EXAMPLES, deadline=None)
CLAMP_MS = 60_000
AGENTS = [Stream(run, agent, 1) for run in ("r1", "r2") for agent in ("a", "b", "c")]


@dataclass(frozen=True)
class Fact:
    """An event, as far as cuts go."""

    event_id: EventId
    hlc: int
    causes: tuple[EventId, ...]


@st.composite
def fleets(draw: st.DrawFn, skew_ms_max: int = CLAMP_MS - 1) -> list[Fact]:
    """Events of two runs with three agents each, whose clocks are apart by up to `skew_ms_max`, in causal order."""
    wall = [1_000_000_000]
    skews = [draw(st.integers(0, skew_ms_max)) for _ in AGENTS]
    clocks = [HybridClock(lambda skew=skew: (wall[0] + skew) * 1000, CLAMP_MS) for skew in skews]
    facts: list[Fact] = []
    counts = [0] * len(AGENTS)
    for _ in range(draw(st.integers(1, 30))):
        wall[0] += draw(st.integers(0, 3))
        agent = draw(st.integers(0, len(AGENTS) - 1))
        heard = draw(st.lists(st.sampled_from(facts), max_size=2, unique=True)) if facts else []
        causes = [fact for fact in heard if fact.event_id[:3] != AGENTS[agent]]
        for cause in causes:
            clocks[agent].observe(cause.hlc)
        counts[agent] += 1
        ids = tuple(cause.event_id for cause in causes)
        facts.append(Fact(AGENTS[agent].event(counts[agent]), clocks[agent].tick(), ids))
    return facts


def known(facts: Sequence[Fact]) -> Causality:
    """All that is known of the facts."""
    causality = Causality()
    for fact in facts:
        causality.add(fact.event_id, fact.hlc, fact.causes)
    return causality


def before(facts: Sequence[Fact]) -> dict[EventId, set[EventId]]:
    """Each event's past, by plain search."""
    direct = {fact.event_id: set(fact.causes) for fact in facts}
    for fact in facts:
        if fact.event_id.seq > 1:
            direct[fact.event_id].add(fact.event_id._replace(seq=fact.event_id.seq - 1))
    pasts: dict[EventId, set[EventId]] = {}
    for fact in facts:
        pasts[fact.event_id] = set(direct[fact.event_id]).union(*(pasts[cause] for cause in direct[fact.event_id]))
    return pasts


def inside(facts: Sequence[Fact], cut: Cut) -> set[EventId]:
    """The events of a cut."""
    return {fact.event_id for fact in facts if cut.holds(fact.event_id)}


def is_closed(events: set[EventId], pasts: Mapping[EventId, set[EventId]]) -> bool:
    """Whether a set holds the past of all its events."""
    return all(pasts[event] <= events for event in events)


@given(fleets(), st.data())
@SEEDED
def test_a_time_is_a_closed_cut(facts: list[Fact], data: st.DataObject) -> None:
    """Up to the clamp, a time of the hybrid clock leaves out nothing that happened by then."""
    hlc = data.draw(st.sampled_from(facts)).hlc
    cut = cut_at_time(known(facts), hlc)
    assert inside(facts, cut) == {fact.event_id for fact in facts if fact.hlc <= hlc}
    assert is_closed(inside(facts, cut), before(facts))
    assert proof(known(facts), cut).is_closed


@given(fleets(skew_ms_max=10 * CLAMP_MS), st.data())
@SEEDED
def test_a_clock_beyond_the_clamp_spoils_no_cut(facts: list[Fact], data: st.DataObject) -> None:
    """Cuts stay closed, and what does not depend on a clock that ran away is where its own clock says."""
    hlc = data.draw(st.sampled_from(facts)).hlc
    causality = known(facts)
    cut = cut_at_time(causality, hlc)
    pasts = before(facts)
    held = inside(facts, cut)
    assert is_closed(held, pasts)
    late = {fact.event_id for fact in facts if fact.hlc > hlc}
    for fact in facts:
        if fact.hlc <= hlc and not pasts[fact.event_id] & late:
            assert fact.event_id in held
    clocks = {fact.event_id: fact.hlc for fact in facts}
    flagged = {(skew.event_id, skew.cause) for skew in causality.skews()}
    expected = {(f.event_id, cause) for f in facts for cause in f.causes if clocks[cause] >= f.hlc}
    assert flagged == expected


@given(fleets(skew_ms_max=10 * CLAMP_MS), st.data())
@SEEDED
def test_any_positions_give_the_largest_closed_cut_within(facts: list[Fact], data: st.DataObject) -> None:
    """Offsets of partitions are no cut by themselves; the cut within them leaves out only what it must."""
    positions = {stream: data.draw(st.integers(0, 12)) for stream in AGENTS}
    held = inside(facts, cut_at_positions(known(facts), positions))
    pasts = before(facts)
    allowed = {fact.event_id for fact in facts if fact.event_id.seq <= positions[Stream(*fact.event_id[:3])]}
    assert held == {event for event in allowed if pasts[event] <= allowed}


@given(fleets(), st.data())
@SEEDED
def test_the_cones_of_an_event(facts: list[Fact], data: st.DataObject) -> None:
    """Past and future are what a plain search over the causes finds, and an event's cut is its past and itself."""
    event_id = data.draw(st.sampled_from(facts)).event_id
    causality = known(facts)
    pasts = before(facts)
    after = {event for event, theirs in pasts.items() if event_id in theirs}
    for cone, expected in ((past(causality, event_id), pasts[event_id]), (future(causality, event_id), after)):
        spans = {
            fact.event_id
            for fact in facts
            if (span := cone.spans.get(Stream(*fact.event_id[:3]))) and span[0] <= fact.event_id.seq <= span[1]
        }
        assert spans == expected
        assert cone.events == len(expected)
    assert inside(facts, cut_at_event(causality, event_id)) == pasts[event_id] | {event_id}


@given(fleets(), st.data())
@SEEDED
def test_a_base_stands_for_its_events(facts: list[Fact], data: st.DataObject) -> None:
    """From a closed cut on, later cuts are the same with and without the events below it."""
    first, second = sorted(data.draw(st.sampled_from(facts)).hlc for _ in range(2))
    whole = known(facts)
    base = cut_at_time(whole, first)
    tail = Causality(base.positions)
    for fact in facts:
        if not base.holds(fact.event_id):
            tail.add(fact.event_id, fact.hlc, fact.causes)
    assert cut_at_time(tail, second).positions == cut_at_time(whole, second).positions
    assert proof(tail, cut_at_time(tail, second)).events == proof(whole, cut_at_time(whole, second)).events


@given(fleets(), st.data())
@SEEDED
def test_an_outline_tells_whether_a_base_is_in_the_past(facts: list[Fact], data: st.DataObject) -> None:
    """From what lies behind a closed cut, and who depends on its ends, the past of an event is known without the rest."""
    whole = known(facts)
    base = cut_at_positions(whole, {stream: data.draw(st.integers(0, 12)) for stream in AGENTS}).positions
    behind = [fact for fact in facts if fact.event_id.seq > base.get(Stream(*fact.event_id[:3]), 0)]
    asked = data.draw(st.sampled_from(facts)).event_id
    outline = Outline(base)
    for fact in behind:
        outline.span(Stream(*fact.event_id[:3]), fact.event_id.seq, fact.event_id.seq)
        for cause in fact.causes:
            outline.edge(fact.event_id, cause)
    reach = outline.past(asked)
    expected = cut_at_event(whole, asked).positions
    is_inside = all(expected.get(stream, 0) >= seq for stream, seq in base.items())
    is_behind = asked.seq > base.get(Stream(*asked[:3]), 0)
    dependants = {cause: [fact.event_id for fact in facts if cause in fact.causes] for cause in before(facts)}
    assert not reach.missing
    if is_behind:
        assert outline.holds_base(reach, dependants.__getitem__) == is_inside
    if is_behind and is_inside:
        assert {**base, **reach.positions} == expected


@given(fleets(), st.data())
@SEEDED
def test_a_proof_names_what_is_open_or_missing(facts: list[Fact], data: st.DataObject) -> None:
    """Positions that are no cut fail the proof by name; evidence that is not there is missing, not open."""
    positions = {stream: data.draw(st.integers(0, 12)) for stream in AGENTS}
    lost = data.draw(st.sampled_from(AGENTS))
    kept = [fact for fact in facts if fact.event_id[:3] != lost]
    causality = known(kept)
    cut = Cut({stream: causality.at_or_below(stream, seq) for stream, seq in positions.items()})
    held = inside(kept, cut)
    found = proof(causality, cut)
    there = {fact.event_id for fact in kept}
    crossing = [(fact.event_id, cause) for fact in kept if fact.event_id in held for cause in fact.causes]
    assert list(found.open) == sorted((e, cause) for e, cause in crossing if cause in there and cause not in held)
    assert list(found.missing) == sorted({cause for _, cause in crossing if cause not in there})
    assert found.edges == len(crossing)
