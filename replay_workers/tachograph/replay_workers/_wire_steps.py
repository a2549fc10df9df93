"""A recorded step and what came back from it, as a row of a frame's header."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from tachograph.core.replay import Fixture, Piece, RecordedError, Step
from tachograph.replay_workers._wire import Blob, Json
from tachograph.schemas import CallKind, CallOutcome, EndOutcome

_OK = CallOutcome.OK
KEY_BYTES = 32
_STEP_FIELDS = 11

CallRow = tuple[int, int, CallKind, str, int, "str | None", int, int, int, int, int, int, int, bool]
"""A plain call as it comes over the pipe."""

_Get = Callable[["int | None"], "bytes | None"]


def is_plain_call(step: Step, fixture: Fixture) -> bool:
    """Whether a step is a call that came back with a result and nothing else: what most steps are."""
    return (
        fixture.outcome is _OK
        and step.outcome is _OK
        and fixture.result is not None
        and fixture.error is None
        and not fixture.pieces
        and fixture.unrecorded is None
        and fixture.message_id is None
        and fixture.from_agent_id is None
    )


def call_row(number: int, step: Step, fixture: Fixture, blob: Blob) -> list[Json]:
    """A plain call of the stream with this number; the bytes go into the blob."""
    arguments, result = step.arguments, fixture.result
    assert result is not None
    blob.parts += (step.key, arguments, result)
    return [
        number, step.number, step.kind, step.name, len(arguments), step.version, step.seq, step.hlc, len(result),
        fixture.yields, fixture.gap, fixture.seq, fixture.hlc, fixture.redacted,
    ]  # fmt: skip


def step_row(step: Step, fixture: Fixture | None, blob: Blob) -> list[Json]:
    """A step and its fixture; the bytes go into the blob."""
    put = blob.put
    put(step.key)
    outcome = step.outcome.value if step.outcome is not None else None
    return [
        step.number, step.kind, step.name, put(step.arguments), step.version, step.seq, step.hlc, outcome,
        put(step.result) if fixture is None else None, step.error_type,
        _fixture_row(fixture, blob) if fixture is not None else None,
    ]  # fmt: skip


def step_of(agent_id: str, incarnation: int, row: Sequence[object], get: _Get) -> tuple[Step, Fixture | None]:
    """The inverse of `step_row`, for a step of this stream; before it, the row may have what tells the stream."""
    number, kind, name, arguments, version, seq, hlc, outcome, result, error_type, fixed = row[-_STEP_FIELDS:]
    key, payload = get(KEY_BYTES), get(arguments)  # type: ignore[arg-type]  # our own frame: the parent wrote it
    came_back = get(result) if result is not None else None  # type: ignore[arg-type]  # as above
    fixture = _fixture(fixed, get) if fixed is not None else None  # type: ignore[arg-type]  # as above
    step = Step(
        agent_id, incarnation, number, kind, name, key, payload, version, seq, hlc,  # type: ignore[arg-type]
        _outcome(kind, outcome), fixture.result if fixture is not None else came_back,
        error_type,  # type: ignore[arg-type]  # our own frame: the parent wrote it from a Step
    )  # fmt: skip
    return step, fixture


def _outcome(kind: object, outcome: object) -> CallOutcome | EndOutcome | None:
    if outcome is None:
        return None
    return EndOutcome(outcome) if kind == "end" else _CALL_OUTCOMES[outcome]  # type: ignore[index, arg-type]  # as above


_CALL_OUTCOMES = {outcome.value: outcome for outcome in CallOutcome}


def _fixture_row(fixture: Fixture, blob: Blob) -> Json:
    put = blob.put
    result = put(fixture.result)
    error: Json = None
    if fixture.error is not None:
        failed = fixture.error
        error = [failed.type, list(failed.bases), failed.message, put(failed.arguments)]
    pieces: list[Json] = [
        [put(piece.data), piece.yields, piece.gap, piece.seq, piece.hlc, piece.redacted] for piece in fixture.pieces
    ]
    return [
        fixture.outcome.value if fixture.outcome is not None else None,
        result, error, pieces, fixture.yields, fixture.gap, fixture.seq, fixture.hlc,
        fixture.unrecorded, fixture.redacted, fixture.message_id, fixture.from_agent_id,
    ]  # fmt: skip


def _fixture(row: list[object], get: _Get) -> Fixture:
    outcome, result, error, pieces, yields, gap, seq, hlc, unrecorded, redacted, message_id, from_agent_id = row
    return Fixture(
        _CALL_OUTCOMES[outcome] if outcome is not None else None,  # type: ignore[index]  # as above
        get(result),  # type: ignore[arg-type]  # as above
        _error(cast("list[object]", error), get) if error is not None else None,
        tuple(_piece(one, get) for one in cast("list[list[object]]", pieces)) if pieces else (),
        yields, gap, seq, hlc, unrecorded, redacted,  # type: ignore[arg-type]  # as above
        message_id=message_id, from_agent_id=from_agent_id,  # type: ignore[arg-type]  # as above
    )  # fmt: skip


def _piece(row: list[object], get: _Get) -> Piece:
    length, yields, gap, seq, hlc, redacted = row
    return Piece(get(length) or b"", yields, gap, seq, hlc, redacted)  # type: ignore[arg-type]  # as above


def _error(row: list[object], get: _Get) -> RecordedError:
    kind, bases, message, arguments = row
    return RecordedError(
        cast("str", kind), tuple(cast("list[str]", bases)), cast("str", message), get(cast("int | None", arguments))
    )
