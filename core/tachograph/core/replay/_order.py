"""The recorded order of a unit: when steps began and results arrived, over all of its streams."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tachograph.core.boundary import CANCELLED_WAITED, WAITED
from tachograph.core.replay._recorded import Arrival, Fixture, Mark, Piece, StreamSteps
from tachograph.core.replay._values import Step

_WAITED = (WAITED, CANCELLED_WAITED)


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
        if piece.yields in _WAITED:
            yield _arrival(step, index, piece)
    if fixture.outcome is not None and fixture.yields in _WAITED:
        yield _arrival(step, None, fixture)


def _arrival(step: Step, piece: int | None, came: Piece | Fixture) -> Arrival:
    induced = came.yields < WAITED
    return Arrival(step.agent_id, step.incarnation, step.number, piece, came.gap, came.hlc, came.seq, induced)
