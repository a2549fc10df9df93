"""A unit on its way to the child: a frame with what it is, and frames with its steps, as they are there to be sent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import cast

from tachograph.core.replay import Fixture, StreamSteps
from tachograph.replay_workers._arrivals import Arrivals
from tachograph.replay_workers._order import order_of
from tachograph.replay_workers._places import FiredTimer
from tachograph.replay_workers._unit import Unit
from tachograph.replay_workers._wire import Blob, Frame, Json, frame
from tachograph.replay_workers._wire_order import order_from, order_json
from tachograph.replay_workers._wire_steps import call_row, is_plain_call, step_row

_BLOCK_STEPS = 256
"""Steps in a frame: the child makes them all as it reads it."""

_Place = tuple[int, int, int]
"""(clock from which a step may be sent, number of its stream, its index)."""


def unit_frames(unit: Unit, extra: Frame, checked: Iterable[int] = ()) -> Iterator[bytes]:
    """A unit's frames.

    Args:
        unit: what to replay.
        extra: what else the child is told.
        checked: goes through the evidence, and says up to which clock it is what it was: a step is sent no earlier.
    """
    yield _opening(unit, extra)
    places = sorted(_places(unit))
    sent = 0
    for clock in checked:
        until = sent
        while until < len(places) and places[until][0] <= clock:
            until += 1
        if until > sent:
            yield _block(unit, places[sent:until], last=False)
            sent = until
    for start in range(sent, len(places), _BLOCK_STEPS):
        yield _block(unit, places[start : start + _BLOCK_STEPS], last=False)
    yield _block(unit, [], last=True)


def _places(unit: Unit) -> Iterator[_Place]:
    for number, stream in enumerate(unit.streams):
        for index, (step, fixture) in enumerate(zip(stream.steps, stream.fixtures, strict=True)):
            yield step.hlc if fixture is None else max(step.hlc, _over(fixture)), number, index


def _over(fixture: Fixture) -> int:
    """The clock of the last event that a fixture is made from."""
    return max(fixture.hlc, fixture.pieces[-1].hlc) if fixture.pieces else fixture.hlc


def _block(unit: Unit, places: Iterable[_Place], *, last: bool) -> bytes:
    """The bytes of plain calls come first in the blob."""
    blob, rest = Blob(), Blob()
    calls: list[Json] = []
    rows: list[Json] = []
    for _, number, index in places:
        stream = unit.streams[number]
        step, fixture = stream.steps[index], stream.fixtures[index]
        if fixture is not None and is_plain_call(step, fixture):
            calls.append(call_row(number, step, fixture, blob))
        else:
            rows.append([number, *step_row(step, fixture, rest)])
    return frame({"calls": calls, "block": rows, "last": last}, blob.parts + rest.parts)


def _opening(unit: Unit, extra: Frame) -> bytes:
    blob = Blob()
    header: Frame = {
        "run_id": unit.run_id,
        "key": list(unit.key),
        "kind": unit.kind,
        "entrypoint": unit.entrypoint,
        "arguments": blob.put(unit.arguments),
        "arguments_redacted": unit.arguments_redacted,
        "redaction": unit.redaction,
        "streams": [_stream_row(stream) for stream in unit.streams],
        "order": order_json(order_of(unit.streams, unit.times, unit.timers), unit.timers),
        "started_at_us": unit.started_at_us,
        "timers": [
            [*timer.stream, timer.number, timer.delay_us, timer.gap, timer.seq, timer.hlc] for timer in unit.timers
        ],
        "code": list(unit.code),
        "steps_max": unit.steps_max,
        "cpu_seconds_max": unit.cpu_seconds_max,
        "extra": extra,
    }
    return frame(header, blob.parts)


def _stream_row(stream: StreamSteps) -> Json:
    parent: Json = [*stream.parent] if stream.parent is not None else None
    return [
        stream.run_id, stream.agent_id, stream.incarnation, len(stream.steps), stream.ended, parent, stream.role,
        stream.last_seq,
    ]  # fmt: skip


def unit_of(header: Frame, blob: bytes, arrivals: Arrivals) -> Unit:
    """The unit of an opening frame, whose steps are still to come."""
    raw = cast("dict[str, list[list[object]]]", header)
    key = cast("tuple[str, int]", tuple(cast("list[object]", header["key"])))
    timers = tuple(_timer(timer) for timer in raw["timers"])
    return Unit(
        run_id=cast("str", header["run_id"]),
        key=key,
        kind="run" if header["kind"] == "run" else "agent",
        entrypoint=cast("str", header["entrypoint"]),
        arguments=blob,
        arguments_redacted=header["arguments_redacted"] is True,
        redaction=cast("str", header["redaction"]),
        streams=tuple(_stream(stream, arrivals) for stream in raw["streams"]),
        times={key: [cast("int", header["started_at_us"])]},
        timers=timers,
        code=tuple(cast("list[str]", header["code"])),
        steps_max=cast("int", header["steps_max"]),
        cpu_seconds_max=cast("float", header["cpu_seconds_max"]),
        order=order_from(cast("Frame", header["order"]), timers),
    )


def _stream(row: list[object], arrivals: Arrivals) -> StreamSteps:
    run_id, agent_id, incarnation, count, ended, parent, role, last_seq = row
    steps, fixtures = arrivals.stream(cast("str", agent_id), cast("int", incarnation), cast("int", count))
    opener = cast("tuple[str, int]", tuple(cast("list[object]", parent))) if parent is not None else None
    return StreamSteps(
        cast("str", run_id), cast("str", agent_id), cast("int", incarnation), steps, fixtures, ended is True, opener,
        cast("str", role), cast("int", last_seq),
    )  # fmt: skip


def _timer(row: list[object]) -> FiredTimer:
    agent_id, incarnation, *numbers = row
    number, delay_us, gap, seq, hlc = cast("list[int]", numbers)
    return FiredTimer((cast("str", agent_id), cast("int", incarnation)), number, delay_us, gap, seq, hlc)
