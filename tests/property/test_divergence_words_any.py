"""Whatever two streams hold, a divergence is found where they differ, and can be told, shown and sent."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from typing import cast

from hypothesis import given, settings
from hypothesis import strategies as st

from tachograph.core.canonical import encode_body
from tachograph.core.replay import (
    Divergence,
    Step,
    StepMaker,
    UnitResult,
    UnrecordedInput,
    blame,
    compare,
    explain,
    field_changes,
    verdict,
    verdict_from_json,
    verdict_json,
)
from tachograph.schemas import CallKind, CallOutcome, EndOutcome

EXAMPLES = 1_000 if os.environ.get("TACHO_NIGHTLY") == "1" else 50
SEEDED = settings(print_blob=True, max_examples=EXAMPLES, deadline=None)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.tuples(inner) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)
ARGUMENTS = st.fixed_dictionaries(
    {"args": st.lists(VALUES, max_size=3), "kwargs": st.dictionaries(TEXT, VALUES, max_size=3)}
)
PAYLOADS = (VALUES | ARGUMENTS).map(encode_body)
CALL_KINDS = ("model", "tool", "retrieval", "memory", "policy", "approval", "clock", "random", "id", "messages")


@st.composite
def streams(draw: st.DrawFn) -> list[Step]:
    """A short stream of anything."""
    maker = StepMaker("a", 1)
    steps = [draw(any_step(maker)) for _ in range(draw(st.integers(0, 5)))]
    if draw(st.booleans()):
        steps.append(maker.ended(EndOutcome.OK, draw(PAYLOADS)))
    elif draw(st.booleans()):
        steps.append(maker.ended(EndOutcome.ERROR, None, (draw(TEXT), draw(TEXT))))
    return [replace(step, seq=2 * step.number, hlc=step.number) for step in steps]


@st.composite
def any_step(draw: st.DrawFn, maker: StepMaker) -> Step:
    """A step of any kind but the last."""
    name, payload = draw(TEXT), draw(PAYLOADS)
    match draw(st.sampled_from(["call", "call", "send", "state", "checkpoint", "artifact", "agent"])):
        case "send":
            return maker.send(name, payload)
        case "state":
            return maker.state(name, payload)
        case "checkpoint":
            return maker.checkpoint(name, payload)
        case "artifact":
            return maker.artifact(name, draw(TEXT), payload)
        case "agent":
            return maker.opened(name, draw(TEXT))
        case _:
            kind = cast("CallKind", draw(st.sampled_from(CALL_KINDS)))
            made = maker.call(kind, name, payload, draw(st.none() | TEXT))
            return replace(made, outcome=CallOutcome.OK, result=draw(PAYLOADS))


def check(found: Divergence) -> None:
    """It can be told in one printable line, shown line by line, and comes back from JSON as it was."""
    assert found.sentence.endswith(".")
    for line in (found.sentence, *explain(found)):
        assert "\n" not in line
        assert "\x1b" not in line
    given = verdict([UnitResult((found,), 1, 1, 1)])
    assert verdict_from_json(json.loads(json.dumps(verdict_json(given)))) == given


@SEEDED
@given(streams(), streams())
def test_any_two_streams(one: list[Step], other: list[Step]) -> None:
    """The divergence stands at the first step that is not the same."""
    found = compare(one, other, run_id="r1")
    if found is None:
        assert len(one) == len(other)
        return
    same = found.step - 1
    assert [step.key for step in one[:same]] == [step.key for step in other[:same]]
    check(found)


@SEEDED
@given(streams(), streams(), TEXT, st.integers(0, 6))
def test_with_a_read_past_the_boundary(one: list[Step], other: list[Step], what: str, after: int) -> None:
    """A blamed divergence can be told just as well."""
    found = compare(one, other, run_id="r1")
    if found is not None:
        check(blame(found, [UnrecordedInput(what, "file", what, 1, "pass it in", "a", after)]))


@SEEDED
@given(VALUES, VALUES)
def test_fields_differ_where_payloads_do(one: object, other: object) -> None:
    """No change for equal payloads, at least one for different ones, and never more than asked for."""
    recorded, replayed = encode_body(one), encode_body(other)
    assert field_changes(recorded, recorded) == ()
    assert bool(field_changes(recorded, replayed)) == (recorded != replayed)
    assert len(field_changes(recorded, replayed, limit=2)) <= 2


@SEEDED
@given(st.binary(max_size=40), st.binary(max_size=40))
def test_payloads_that_are_anything(one: bytes, other: bytes) -> None:
    """Bytes that are no JSON are compared as text, and nothing is raised."""
    field_changes(one, other)
