"""Windows count the same whatever the order and however often findings come, and batches hide nothing."""

from __future__ import annotations

import random
from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from tachograph.core.findings import (
    Finding,
    Position,
    ReplayFinding,
    ReplayState,
    RunFinding,
    RunRow,
    RunStatus,
    finding_bytes,
    newer,
)
from tachograph.stream_processors.insights import Arrived, Trends, sort

HOUR_US = 3_600_000_000
SEEDED = settings(print_blob=True, max_examples=100, deadline=None)
NAMES = ("MESSAGE_LOST", "SIDE_EFFECT_UNKNOWN", "TOOL_LOOP")


def run_finding(tenant: str, number: int, events: int, hour: int, names: tuple[str, ...]) -> RunFinding:
    """A run's row at a position."""
    row = RunRow(
        f"run-{number}", tenant, "desk", RunStatus.RUNNING, None, hour * HOUR_US + number, None, 1, events, "COMPLETE",
        (), 0, 0, names, None, None,
    )  # fmt: skip
    return RunFinding(row, Position(events, events, over=False), first_hlc=hour)


def replay_finding(tenant: str, number: int, state: ReplayState, hour: int, result: str) -> ReplayFinding:
    """A replay job at a place of its life."""
    done = state is ReplayState.COMPLETED
    at_us = hour * HOUR_US + list(ReplayState).index(state)
    return ReplayFinding(
        f"job-{number}", tenant, "run-1", "EXACT", state, result if done else None, None, None, at_us, float(number)
    )


runs = st.builds(
    run_finding,
    st.sampled_from(["acme", "zeta"]),
    st.integers(0, 4),
    st.integers(1, 5),
    st.integers(0, 100),
    st.sets(st.sampled_from(NAMES)).map(lambda names: tuple(sorted(names))),
)
replays = st.builds(
    replay_finding,
    st.sampled_from(["acme", "zeta"]),
    st.integers(0, 4),
    st.sampled_from(list(ReplayState)),
    st.integers(0, 100),
    st.sampled_from(["REPRODUCED", "DIVERGED", "LIMITED"]),
)


def first_of_each_version(findings: list[Finding]) -> list[Finding]:
    """A key and a version belong to one finding only."""
    seen: set[tuple[str, str, str]] = set()
    kept: list[Finding] = []
    for finding in findings:
        tenant = finding.row.tenant if isinstance(finding, RunFinding) else finding.tenant  # type: ignore[union-attr]
        place = (tenant, finding.key, finding.version)
        if place not in seen:
            seen.add(place)
            kept.append(finding)
    return kept


@given(st.lists(st.one_of(runs, replays), max_size=30), st.randoms(use_true_random=False))
@SEEDED
def test_windows_do_not_depend_on_order_or_repetition(findings: list[Finding], rng: random.Random) -> None:
    """The counts are those of the standing findings."""
    known = first_of_each_version(findings)
    once, often = Trends(), Trends()
    for finding in known:
        once.add(finding)
    again = known * 2
    rng.shuffle(again)
    for finding in again:
        often.add(finding)
    assert once.signatures() == often.signatures()
    assert once.replays() == often.replays()
    standing: dict[tuple[str, str], RunFinding] = {}
    for finding in known:
        if isinstance(finding, RunFinding):
            place = (finding.row.tenant, finding.key)
            if place not in standing or newer(finding, standing[place]):
                standing[place] = finding
    counted = Counter((place[0], name) for place, found in standing.items() for name in found.row.signatures)
    assert {(trend.tenant, trend.name): trend.runs for trend in once.signatures()} == counted
    assert all(sum(count for _, count in trend.hours) == trend.runs for trend in once.signatures())


@given(st.lists(st.one_of(runs, replays), max_size=20), st.lists(st.binary(max_size=20), max_size=5), st.randoms())
@SEEDED
def test_sorting_keeps_what_stands_and_names_poison(
    findings: list[Finding], garbage: list[bytes], rng: random.Random
) -> None:
    """Of findings with one key the newest is left, by tenant; what is none is poison with a reason."""
    values = [finding_bytes(finding) for finding in first_of_each_version(findings)] + garbage
    rng.shuffle(values)
    batch = [Arrived("t.findings", 0, offset, b"run-1", value) for offset, value in enumerate(values)]
    found = sort(batch)
    assert sorted(poison.record.value or b"" for poison in found.poison) == sorted(garbage)
    assert all(poison.reason for poison in found.poison)
    kept = [(tenant, finding.key) for tenant, some in found.by_tenant.items() for finding in some]
    assert len(kept) == len(set(kept))


def test_old_hours_go_as_new_ones_come() -> None:
    """Memory holds a week of log time, not more."""
    trends = Trends()
    trends.add(run_finding("acme", 1, 1, 0, NAMES))
    trends.add(run_finding("acme", 2, 1, 24 * 7 + 1, NAMES[:1]))
    assert [(trend.name, trend.runs) for trend in trends.signatures()] == [(NAMES[0], 1)]


def test_a_rate_is_of_what_was_proved() -> None:
    """LIMITED proves nothing, and FAILED is no verdict."""
    trends = Trends()
    for number, result in enumerate(["REPRODUCED", "REPRODUCED", "DIVERGED", "LIMITED"]):
        trends.add(replay_finding("acme", number, ReplayState.COMPLETED, 5, result))
    trends.add(replay_finding("acme", 9, ReplayState.FAILED, 5, ""))
    (window,) = trends.replays()
    assert window.pass_rate == 2 / 3
    assert window.results["FAILED"] == 1


def test_a_day_is_counted_over_all_tenants() -> None:
    """What began more than a day before the newest is no part of it."""
    trends = Trends()
    trends.add(run_finding("acme", 1, 1, 100, NAMES[:1]))
    trends.add(run_finding("zeta", 2, 1, 120, NAMES[:2]))
    trends.add(run_finding("zeta", 3, 1, 90, NAMES))
    trends.add(replay_finding("acme", 1, ReplayState.COMPLETED, 50, "REPRODUCED"))
    day = trends.day()
    assert day.signatures == {NAMES[0]: 2, NAMES[1]: 1}
    assert day.replays == {"REPRODUCED": 1}
    assert day.pass_rate == 1.0
