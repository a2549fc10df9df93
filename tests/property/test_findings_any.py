"""Findings come back from their bytes, and of any number of them the same one stands, in whichever order they come."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import is_dataclass
from types import UnionType
from typing import Union, cast, get_args, get_origin, get_type_hints

from hypothesis import given, settings
from hypothesis import strategies as st

from tachograph.core.findings import (
    EffectFinding,
    Finding,
    IntegrityFinding,
    Position,
    RunFinding,
    SegmentFinding,
    SignatureFinding,
    finding_bytes,
    finding_of,
    newer,
)

SEEDED = settings(print_blob=True, max_examples=100, deadline=None)


def of(wanted: object) -> st.SearchStrategy[object]:
    """Any value of a field's type; numbers have 64 bits."""
    if wanted is int:
        return st.integers(0, 2**63 - 1)
    if get_origin(wanted) in (Union, UnionType):
        return st.one_of(*(of(option) for option in get_args(wanted)))
    if get_origin(wanted) is tuple:
        return items_of(get_args(wanted))
    if isinstance(wanted, type) and is_dataclass(wanted):
        return st.builds(wanted, **{name: of(hint) for name, hint in get_type_hints(wanted).items()})
    assert isinstance(wanted, type)
    return st.from_type(wanted)


def items_of(hints: tuple[object, ...]) -> st.SearchStrategy[object]:
    """Any tuple of these types."""
    if hints[-1] is Ellipsis:
        return st.lists(of(hints[0]), max_size=3).map(tuple)
    return st.tuples(*(of(hint) for hint in hints))


KINDS = (RunFinding, EffectFinding, SignatureFinding, IntegrityFinding, SegmentFinding)
FINDINGS = cast("st.SearchStrategy[Finding]", st.one_of(*(of(kind) for kind in KINDS)))


@SEEDED
@given(FINDINGS)
def test_bytes_give_a_finding_back(finding: Finding) -> None:
    """And writing it again gives the same bytes."""
    data = finding_bytes(finding)
    assert finding_of(data) == finding
    assert finding_bytes(finding_of(data)) == data


@SEEDED
@given(st.lists(st.builds(Position, st.integers(0, 12), st.integers(0, 2**63 - 1), st.booleans()), max_size=8))
def test_versions_sort_as_positions_do(positions: list[Position]) -> None:
    """By events, then the clock, then whether the run is over."""
    by_numbers = sorted(positions, key=lambda at: (at.events, at.hlc, at.over))
    assert [at.version for at in by_numbers] == sorted(at.version for at in positions)


@SEEDED
@given(st.lists(FINDINGS, max_size=6), st.data())
def test_the_same_findings_stand_in_the_end(findings: list[Finding], data: st.DataObject) -> None:
    """Again, late or out of order: nothing of it shows."""
    versions = {(finding.key, finding.version): finding for finding in findings}
    once = list(versions.values())
    again = data.draw(st.lists(st.sampled_from(once), max_size=4)) if once else []
    order = data.draw(st.permutations([*once, *again]))
    assert standing(order) == standing(once)


def standing(findings: Iterable[Finding]) -> dict[str, Finding]:
    """What a catalogue comes to that applies findings as they come."""
    kept: dict[str, Finding] = {}
    for finding in findings:
        if finding.key not in kept or newer(finding, kept[finding.key]):
            kept[finding.key] = finding
    return kept
