"""Recorded and replayed steps from short descriptions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

from tachograph.core.replay import Fixture, Step, StepMaker, StreamSteps
from tachograph.schemas import CallKind, CallOutcome, EndOutcome

AGENT = "billing"


@dataclass(frozen=True, slots=True)
class Call:
    """A step in short."""

    kind: str
    name: str
    argument: int = 0


def step_of(maker: StepMaker, call: Call) -> Step:
    """The step of a short description."""
    payload = b"%d" % call.argument
    if call.kind == "send":
        return maker.send(call.name, payload)
    if call.kind == "state":
        return maker.state(call.name, payload)
    arguments = b'{"args":[%d],"kwargs":{}}' % call.argument
    return maker.call(cast("CallKind", call.kind), call.name, arguments)


def recording(calls: Sequence[Call], *, ended: bool = True) -> StreamSteps:
    """A recorded stream: every call has an answer, and the stream its end unless it breaks off."""
    steps = [replace(step, seq=2 * step.number, hlc=100 * step.number) for step in replaying(calls)]
    fixtures = [None if step.kind in ("send", "state", "end") else _answer(step) for step in steps]
    steps = [
        step if fixture is None else replace(step, outcome=fixture.outcome, result=fixture.result)
        for step, fixture in zip(steps, fixtures, strict=True)
    ]
    if not ended:
        steps.pop()
        fixtures.pop()
    return StreamSteps("r1", AGENT, 1, tuple(steps), tuple(fixtures), ended)


def replaying(calls: Sequence[Call]) -> list[Step]:
    """The steps of a replay, its end included."""
    maker = StepMaker(AGENT, 1)
    return [*(step_of(maker, call) for call in calls), maker.ended(EndOutcome.OK, b"null")]


def _answer(step: Step) -> Fixture:
    return Fixture(CallOutcome.OK, result=b'"answer %d"' % step.number, seq=step.seq + 1, hlc=step.hlc + 1)
