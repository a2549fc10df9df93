"""The recorded order of a unit: when steps began and results arrived, over all of its streams."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tachograph.core.replay._recorded import WAITED, Arrival, Fixture, Mark, StreamSteps
from tachograph.core.replay._values import Step
from tachograph.schemas import CallOutcome

_CANCELLED = "asyncio.exceptions.CancelledError"


def arrivals_of(streams: Iterable[StreamSteps]) -> tuple[Arrival, ...]:
    """Everything that had waited, in the order in which it arrived."""
    found = [arrival for stream in streams for arrival in _waited(stream)]
    found.sort(key=lambda arrival: (arrival.hlc, arrival.agent_id, arrival.incarnation, arrival.seq))
    return tuple(found)


def order_of(streams: Iterable[StreamSteps]) -> tuple[Mark, ...]:
    """Every step's beginning and every arrival, in recorded order."""
    marks = [mark for stream in streams for mark in _marks(stream)]
    marks.sort(key=lambda mark: (mark.hlc, mark.agent_id, mark.incarnation, mark.number))
    return tuple(marks)


def _marks(stream: StreamSteps) -> Iterator[Mark]:
    for step in stream.steps:
        yield Mark(step.hlc, step.agent_id, step.incarnation, step.number)
    for arrival in _waited(stream):
        yield Mark(arrival.hlc, arrival.agent_id, arrival.incarnation, arrival.number, arrival)


def _waited(stream: StreamSteps) -> Iterator[Arrival]:
    for step, fixture in zip(stream.steps, stream.fixtures, strict=True):
        if fixture is not None:
            yield from _waited_of_call(step, fixture)


def _waited_of_call(step: Step, fixture: Fixture) -> Iterator[Arrival]:
    for index, piece in enumerate(fixture.pieces):
        if piece.yields == WAITED:
            yield Arrival(
                step.agent_id, step.incarnation, step.number, index, piece.gap, piece.hlc, piece.seq, induced=False
            )
    if fixture.outcome is not None and fixture.yields == WAITED:
        yield Arrival(
            step.agent_id,
            step.incarnation,
            step.number,
            None,
            fixture.gap,
            fixture.hlc,
            fixture.seq,
            _is_induced(fixture),
        )


def _is_induced(fixture: Fixture) -> bool:
    if fixture.outcome is CallOutcome.CANCELLED:
        return True
    return fixture.error is not None and fixture.error.type == _CANCELLED
