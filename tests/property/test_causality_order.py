"""What happened before is before: in clocks, in cuts and in deliveries, whatever the machines' clocks say."""

from __future__ import annotations

import random
from dataclasses import dataclass
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from tachograph.core.causality import EventId, HoldBack, HybridClock
from tachograph.core.testing import FixedClock

AGENTS = 4


@dataclass(frozen=True)
class Happened:
    """An event of a simulated fleet."""

    key: EventId
    causes: tuple[EventId, ...]
    hlc: int
    believed: bool


Script = list[tuple[int, int, int]]
"""Steps: (agent, how far its wall clock moves in microseconds, whose message it receives; AGENTS: nobody's)."""

SCRIPTS = st.lists(
    st.tuples(st.integers(0, AGENTS - 1), st.integers(-50_000, 50_000), st.integers(0, AGENTS)), max_size=80
)
SKEWS = st.lists(st.integers(-200_000_000, 200_000_000), min_size=AGENTS, max_size=AGENTS)


def _run(script: Script, skews: list[int], ahead_ms_max: int) -> list[Happened]:
    walls = [FixedClock(1_700_000_000_000_000 + skew) for skew in skews]
    clocks = [HybridClock(wall.now_us, ahead_ms_max) for wall in walls]
    latest: dict[int, Happened] = {}
    events: list[Happened] = []
    for agent, moved, sender in script:
        walls[agent].advance(moved)
        cause = latest.get(sender) if sender != agent else None
        believed = cause is None or clocks[agent].observe(cause.hlc)
        seq = latest[agent].key.seq + 1 if agent in latest else 1
        key = EventId("r", f"agent{agent}", 1, seq)
        event = Happened(key, () if cause is None else (cause.key,), clocks[agent].tick(), believed)
        latest[agent] = event
        events.append(event)
    return events


def _needs(event: Happened) -> list[EventId]:
    own = [event.key._replace(seq=event.key.seq - 1)] if event.key.seq > 1 else []
    return [*own, *event.causes]


@settings(print_blob=True, deadline=None, max_examples=300)
@given(SCRIPTS, SKEWS)
def test_what_happened_before_has_the_lower_hlc(script: Script, skews: list[int]) -> None:
    """From e -> f follows hlc(e) < hlc(f), with clocks minutes apart that go backwards."""
    events = _run(script, skews, ahead_ms_max=10_000_000)
    hlcs = {event.key: event.hlc for event in events}
    for event in events:
        assert event.believed
        assert all(hlcs[need] < event.hlc for need in _needs(event))


@settings(print_blob=True, deadline=None, max_examples=300)
@given(SCRIPTS, SKEWS, st.integers(0, 79))
def test_every_cut_at_an_hlc_is_closed(script: Script, skews: list[int], where: int) -> None:
    """All events with hlc <= T: whatever one of them needs is among them."""
    events = _run(script, skews, ahead_ms_max=10_000_000)
    limit = events[where % len(events)].hlc if events else 0
    inside = {event.key for event in events if event.hlc <= limit}
    assert all(need in inside for event in events if event.hlc <= limit for need in _needs(event))


@settings(print_blob=True, deadline=None, max_examples=200)
@given(SCRIPTS, SKEWS)
def test_clocks_stay_near_the_fastest_wall_they_believe(script: Script, skews: list[int]) -> None:
    """A clamped remote clock leaves no trace; own events still rise, and no hlc runs ahead of belief."""
    ahead_ms_max = 60_000
    events = _run(script, skews, ahead_ms_max)
    by_agent: dict[str, list[Happened]] = {}
    for event in events:
        by_agent.setdefault(event.key.agent_id, []).append(event)
    for own in by_agent.values():
        assert all(before.hlc < after.hlc for before, after in pairwise(own))
    hlcs = {event.key: event.hlc for event in events}
    for event in events:
        if event.believed:
            assert all(hlcs[cause] < event.hlc for cause in event.causes)


@settings(print_blob=True, deadline=None, max_examples=300)
@given(SCRIPTS, st.randoms(use_true_random=False), st.integers(0, 20))
def test_every_order_of_arrival_is_delivered_in_causal_order(
    script: Script, source: random.Random, doubled: int
) -> None:
    """Each event once, after everything it needs, duplicates or not."""
    events = _run(script, [0] * AGENTS, 60_000)
    arrivals = [*events, *source.choices(events, k=doubled)] if events else []
    source.shuffle(arrivals)
    buffer: HoldBack[Happened] = HoldBack(len(arrivals) + 1)
    delivered: list[EventId] = []
    for arrival in arrivals:
        for event in buffer.offer(arrival.key, arrival.causes, arrival):
            assert all(need in delivered for need in _needs(event))
            delivered.append(event.key)
    assert sorted(delivered) == sorted(event.key for event in events)
    assert len(buffer) == 0
    assert buffer.missing() == ()
