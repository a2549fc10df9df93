"""Agents whose every step depends on what came before: one change in their logic is still found at its place.

An agent asks a model with its whole conversation, calls tools whose arguments hold earlier answers, reads clock and chance
and keeps state. After a change everything that follows may differ as well; the matcher has to name the change and not its
consequences.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Literal

from hypothesis import assume, given, note, settings
from hypothesis import strategies as st

from tachograph.core.canonical import encode_body
from tachograph.core.replay import (
    Divergence,
    DivergenceKind,
    Fixture,
    Matcher,
    Mismatch,
    Served,
    Step,
    StepMaker,
    StreamSteps,
)
from tachograph.schemas import CallOutcome, EndOutcome

EXAMPLES = 2_000 if os.environ.get("TACHO_NIGHTLY") == "1" else 60
SEEDED = settings(print_blob=True, max_examples=EXAMPLES, deadline=None)


@dataclass(frozen=True, slots=True)
class Op:
    """One line of an agent's logic."""

    kind: Literal["tool", "model", "state", "clock", "random"]
    name: str
    number: int
    """Tells the lines of a program apart; part of the arguments."""
    uses_answers: bool = False
    """Whether a tool's arguments hold the latest answer."""


Play = Generator[Step, bytes, None]


def play(ops: Sequence[Op], maker: StepMaker) -> Play:
    """The agent: gives each step, and is sent what came back."""
    conversation: list[str] = ["start"]
    for op in ops:
        if op.kind == "model":
            answer = yield maker.call("model", op.name, encode_body({"args": list(conversation), "kwargs": {}}))
        elif op.kind == "tool":
            arguments = [op.number, conversation[-1]] if op.uses_answers else [op.number]
            answer = yield maker.call("tool", op.name, encode_body({"args": arguments, "kwargs": {}}))
        elif op.kind == "state":
            yield maker.state(op.name, encode_body([op.number, len(conversation)]))
            continue
        else:
            answer = yield maker.call(op.kind, op.name, b"null")
        conversation.append(answer.decode())
    yield maker.ended(EndOutcome.OK, encode_body(conversation[-1]))


def record(ops: Sequence[Op]) -> StreamSteps:
    """Play against a world whose every answer is its own."""
    agent = play(ops, StepMaker("a", 1))
    steps: list[Step] = []
    fixtures: list[Fixture | None] = []
    step = next(agent)
    while True:
        silent = step.kind in ("state", "end")
        answer = encode_body(sha256(b"%d" % len(steps) + step.arguments).hexdigest()[:8])
        steps.append(replace(step, seq=2 * step.number, hlc=step.number, result=None if silent else answer))
        fixtures.append(None if silent else Fixture(CallOutcome.OK, answer))
        if step.kind == "end":
            return StreamSteps("r1", "a", 1, tuple(steps), tuple(fixtures))
        step = agent.send(answer)


def replay(recorded: StreamSteps, ops: Sequence[Op]) -> Divergence | None:
    """Play changed logic against the recording, as long as the matcher answers."""
    matcher = Matcher(recorded)
    agent = play(ops, StepMaker("a", 1))
    step = next(agent)
    while True:
        match = matcher.take(step)
        if isinstance(match, Mismatch) or step.kind == "end":
            return matcher.divergence()
        assert isinstance(match, Served)
        fixture = match.fixture
        step = agent.send(fixture.result if fixture is not None and fixture.result is not None else b"null")


@st.composite
def programs(draw: st.DrawFn) -> list[Op]:
    """Up to forty lines; a model after every few."""
    ops: list[Op] = []
    for number in range(draw(st.integers(2, 40))):
        kind = draw(st.sampled_from(["tool", "tool", "tool", "model", "state", "clock", "random"]))
        name = draw(st.sampled_from("abc")) if kind != "random" else f"stream-{number}"
        ops.append(Op(kind, name, number, draw(st.booleans())))  # type: ignore[arg-type]
    return ops


def check(ops: Sequence[Op], changed: Sequence[Op], kind: DivergenceKind, place: int) -> None:
    """The divergence is of this kind, at this 1-based line."""
    found = replay(record(ops), changed)
    assert found is not None
    note(found.sentence)
    assert (found.kind, found.step) == (kind, place)


@SEEDED
@given(programs())
def test_the_same_logic_is_reproduced(ops: list[Op]) -> None:
    """Nothing changed, nothing found."""
    assert replay(record(ops), ops) is None


@SEEDED
@given(programs(), st.data())
def test_a_changed_argument(ops: list[Op], data: st.DataObject) -> None:
    """One tool's argument or one state's value is another."""
    lines = [index for index, op in enumerate(ops) if op.kind in ("tool", "state")]
    assume(lines)
    index = data.draw(st.sampled_from(lines))
    changed = [*ops[:index], replace(ops[index], number=1000), *ops[index + 1 :]]
    kind = DivergenceKind.STATE_CHANGED if ops[index].kind == "state" else DivergenceKind.ARGUMENT_CHANGED
    check(ops, changed, kind, index + 1)


@SEEDED
@given(programs(), st.sampled_from("abz"), st.booleans(), st.data())
def test_an_inserted_call(ops: list[Op], name: str, uses_answers: bool, data: st.DataObject) -> None:
    """A tool that is known or new is called once more; its answer goes into every later prompt."""
    index = data.draw(st.integers(0, len(ops)))
    inserted = Op("tool", name, 1000, uses_answers)
    assume(index == len(ops) or not is_changed_too(ops[index], name))
    check(ops, [*ops[:index], inserted, *ops[index:]], DivergenceKind.CALL_EXTRA, index + 1)


@SEEDED
@given(programs(), st.data())
def test_an_extra_read(ops: list[Op], data: st.DataObject) -> None:
    """A random stream of its own is drawn from; nothing that follows is blamed."""
    index = data.draw(st.integers(0, len(ops)))
    check(ops, [*ops[:index], Op("random", "extra", 0), *ops[index:]], DivergenceKind.CALL_EXTRA, index + 1)


@SEEDED
@given(programs(), st.data())
def test_an_early_end(ops: list[Op], data: st.DataObject) -> None:
    """The agent stops in the middle."""
    index = data.draw(st.integers(0, len(ops) - 1))
    check(ops, ops[:index], DivergenceKind.CALL_MISSING, index + 1)


@SEEDED
@given(programs(), st.data())
def test_two_calls_swapped(ops: list[Op], data: st.DataObject) -> None:
    """Two neighbours that do not use answers change places; every later prompt has them the other way round."""
    pairs = [index for index in range(len(ops) - 1) if all(is_plain(op) for op in ops[index : index + 2])]
    assume(pairs)
    index = data.draw(st.sampled_from(pairs))
    changed = [*ops[:index], ops[index + 1], ops[index], *ops[index + 2 :]]
    check(ops, changed, DivergenceKind.REORDERED, index + 1)


@SEEDED
@given(programs(), st.data())
def test_a_removed_call(ops: list[Op], data: st.DataObject) -> None:
    """One tool call is left out; what used its answer uses another."""
    lines = [index for index, op in enumerate(ops) if op.kind == "tool" and index + 1 < len(ops)]
    assume(lines)
    index = data.draw(st.sampled_from(lines))
    assume(not is_changed_too(ops[index + 1], ops[index].name))
    check(ops, [*ops[:index], *ops[index + 1 :]], DivergenceKind.CALL_MISSING, index + 1)


def is_plain(op: Op) -> bool:
    """Whether a line's step is the same wherever it stands."""
    return op.kind == "tool" and not op.uses_answers


def is_changed_too(following: Op, name: str) -> bool:
    """Whether the next line calls the same tool with the answer that is missing or new before it.

    Then it looks just as well as if that next call had changed, and nobody can say which.
    """
    return following.kind == "tool" and following.name == name and following.uses_answers
