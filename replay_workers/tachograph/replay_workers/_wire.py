"""Units and attempts as frames on a pipe: a JSON header that points into one run of bytes behind it.

    frame: length of all that follows, 8 bytes big-endian | length of the header, 4 bytes | header | blob

Nothing is pickled: a frame can hold nothing but JSON and bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

import orjson

from tachograph.core.errors import InternalError
from tachograph.core.replay import Fixture, Piece, RecordedError, Step, StreamSteps
from tachograph.replay_workers._places import FiredTimer
from tachograph.replay_workers._unit import Unit
from tachograph.schemas import CallOutcome, EndOutcome

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
Frame = dict[str, Json]

LENGTH_BYTES = 8
HEADER_BYTES = 4
FRAME_BYTES_MAX = 4 * 1024**3
"""Nothing that is replayed comes near it."""


class _Writer:
    """Collects the blob."""

    __slots__ = ("_at", "parts")

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self._at = 0

    def put(self, data: bytes | None) -> Json:
        """Where some bytes lie: `[start, end]`; null for None."""
        if data is None:
            return None
        start = self._at
        self._at = end = start + len(data)
        self.parts.append(data)
        return [start, end]


def frame(header: Frame, blob: Sequence[bytes] = ()) -> bytes:
    """A frame's bytes; the blob's parts are put together here and nowhere else, for it is large."""
    text = orjson.dumps(header)
    length = HEADER_BYTES + len(text) + sum(map(len, blob))
    return b"".join((length.to_bytes(LENGTH_BYTES, "big"), len(text).to_bytes(HEADER_BYTES, "big"), text, *blob))


def read_frame(exactly: Callable[[int], bytes]) -> tuple[Frame, bytes]:
    """Header and blob of the next frame.

    Args:
        exactly: reads so many bytes from the pipe.

    Raises:
        InternalError: no frame is that long; the pipe is out of step.
    """
    length = int.from_bytes(exactly(LENGTH_BYTES), "big")
    size = int.from_bytes(exactly(HEADER_BYTES), "big")
    if not HEADER_BYTES + size <= length <= FRAME_BYTES_MAX:
        raise InternalError(f"a frame of {length} bytes on the pipe of a replaying process")
    return cast("Frame", orjson.loads(exactly(size))), exactly(length - HEADER_BYTES - size)


def unit_frame(unit: Unit, extra: Frame) -> bytes:
    """A unit on its way to the child."""
    writer = _Writer()
    header: Frame = {
        "run_id": unit.run_id,
        "key": list(unit.key),
        "kind": unit.kind,
        "entrypoint": unit.entrypoint,
        "arguments": writer.put(unit.arguments),
        "arguments_redacted": unit.arguments_redacted,
        "redaction": unit.redaction,
        "streams": [_stream_json(stream, writer) for stream in unit.streams],
        "times": [[*key, list(times)] for key, times in unit.times.items()],
        "timers": [
            [*timer.stream, timer.number, timer.delay_us, timer.gap, timer.seq, timer.hlc] for timer in unit.timers
        ],
        "code": list(unit.code),
        "steps_max": unit.steps_max,
        "extra": extra,
    }
    return frame(header, writer.parts)


def unit_of(header: Frame, blob: bytes) -> Unit:
    """The inverse of `unit_frame`."""
    get = _reader(blob)
    raw = cast("dict[str, list[list[object]]]", header)
    return Unit(
        run_id=cast("str", header["run_id"]),
        key=cast("tuple[str, int]", tuple(cast("list[object]", header["key"]))),
        kind="run" if header["kind"] == "run" else "agent",
        entrypoint=cast("str", header["entrypoint"]),
        arguments=get(header["arguments"]) or b"",
        arguments_redacted=header["arguments_redacted"] is True,
        redaction=cast("str", header["redaction"]),
        streams=tuple(_stream(stream, get) for stream in raw["streams"]),
        times={(cast("str", one[0]), cast("int", one[1])): cast("list[int]", one[2]) for one in raw["times"]},
        timers=tuple(_timer(timer) for timer in raw["timers"]),
        code=tuple(cast("list[str]", header["code"])),
        steps_max=cast("int", header["steps_max"]),
    )


def _timer(data: list[object]) -> FiredTimer:
    agent_id, incarnation, *numbers = data
    number, delay_us, gap, seq, hlc = cast("list[int]", numbers)
    return FiredTimer((cast("str", agent_id), cast("int", incarnation)), number, delay_us, gap, seq, hlc)


_Get = Callable[[object], "bytes | None"]


def _reader(blob: bytes) -> _Get:
    def get(where: object) -> bytes | None:
        if where is None:
            return None
        start, end = cast("list[int]", where)
        return blob[start:end]

    return get


def _stream_json(stream: StreamSteps, writer: _Writer) -> Json:
    put = writer.put
    steps: list[Json] = []
    for step in stream.steps:
        outcome = step.outcome.value if step.outcome is not None else None
        steps.append(
            [step.kind, step.name, put(step.key), put(step.arguments), step.version, step.seq, step.hlc, outcome,
             put(step.result) if step.kind == "end" else None, step.error_type]
        )  # fmt: skip
    return [
        stream.run_id,
        stream.agent_id,
        stream.incarnation,
        steps,
        [_fixture_json(fixture, writer) for fixture in stream.fixtures],
        stream.ended,
        list(stream.parent) if stream.parent is not None else None,
        stream.role,
        stream.last_seq,
    ]


def _stream(data: list[object], get: _Get) -> StreamSteps:
    run_id, agent_id, incarnation = cast("tuple[str, str, int]", tuple(data[:3]))
    fixtures = tuple(_fixture(one, get) for one in cast("list[list[object] | None]", data[4]))
    raw = cast("list[list[object]]", data[3])
    steps = tuple(
        _step(agent_id, incarnation, number, one, get, fixture)
        for number, (one, fixture) in enumerate(zip(raw, fixtures, strict=True), 1)
    )
    parent = cast("tuple[str, int] | None", tuple(cast("list[object]", data[6])) if data[6] is not None else None)
    return StreamSteps(
        run_id, agent_id, incarnation, steps, fixtures, data[5] is True, parent,
        cast("str", data[7]), cast("int", data[8]),
    )  # fmt: skip


def _step(agent_id: str, incarnation: int, number: int, data: list[object], get: _Get, fixture: Fixture | None) -> Step:
    kind, name, key, arguments, version, seq, hlc, outcome, result, error_type = data
    return Step(
        agent_id, incarnation, number, kind, name, get(key) or b"", get(arguments) or b"",  # type: ignore[arg-type]
        version, seq, hlc, _outcome(kind, outcome), fixture.result if fixture is not None else get(result),  # type: ignore[arg-type]
        error_type,  # type: ignore[arg-type]  # our own frame: the parent wrote it from a Step
    )  # fmt: skip


def _outcome(kind: object, outcome: object) -> CallOutcome | EndOutcome | None:
    if outcome is None:
        return None
    return EndOutcome(str(outcome)) if kind == "end" else _CALL_OUTCOMES[str(outcome)]


_CALL_OUTCOMES = {outcome.value: outcome for outcome in CallOutcome}


def _fixture_json(fixture: Fixture | None, writer: _Writer) -> Json:
    if fixture is None:
        return None
    put = writer.put
    error: Json = None
    if fixture.error is not None:
        failed = fixture.error
        error = [failed.type, list(failed.bases), failed.message, put(failed.arguments)]
    pieces: list[Json] = [
        [put(piece.data), piece.yields, piece.gap, piece.seq, piece.hlc, piece.redacted] for piece in fixture.pieces
    ]
    return [
        fixture.outcome.value if fixture.outcome is not None else None,
        put(fixture.result), error, pieces, fixture.yields, fixture.gap, fixture.seq, fixture.hlc,
        fixture.unrecorded, fixture.redacted,
    ]  # fmt: skip


def _fixture(data: list[object] | None, get: _Get) -> Fixture | None:
    if data is None:
        return None
    outcome, result, error, pieces, yields, gap, seq, hlc, unrecorded, redacted = data
    return Fixture(
        _CALL_OUTCOMES[str(outcome)] if outcome is not None else None,
        get(result),
        _error(cast("list[object]", error), get) if error is not None else None,
        tuple(_piece(one, get) for one in cast("list[list[object]]", pieces)),
        cast("int", yields), cast("int", gap), cast("int", seq), cast("int", hlc),
        cast("str | None", unrecorded), redacted is True,
    )  # fmt: skip


def _piece(data: list[object], get: _Get) -> Piece:
    where, yields, gap, seq, hlc, redacted = data
    return Piece(
        get(where) or b"", cast("int", yields), cast("int", gap), cast("int", seq), cast("int", hlc), redacted is True
    )


def _error(data: list[object], get: _Get) -> RecordedError:
    kind, bases, message, arguments = data
    return RecordedError(cast("str", kind), tuple(cast("list[str]", bases)), cast("str", message), get(arguments))
