"""What came back from recorded calls, made from their events."""

from __future__ import annotations

from collections.abc import Callable

from tachograph.core.replay._drafts import Draft
from tachograph.core.replay._picked import fixture_of_picked
from tachograph.core.replay._recorded import Fixture, Piece, RecordedError
from tachograph.schemas import Body, CallChunk, CallFinished, CallOutcome, Error, MessageReceived

ReadBody = Callable[[Body, str], bytes]
"""(body, event id) to the body's bytes. What it raises comes out of `steps_of`."""


def fixture_of(draft: Draft, call_id: int, body: ReadBody) -> Fixture:
    """What came back from a call of a stream."""
    end = draft.finished.get(call_id)
    chunks = draft.chunks.get(call_id)
    pieces = tuple(_piece(draft, chunk, body) for chunk in chunks) if chunks else ()
    if end is None:
        return Fixture(None, pieces=pieces, redacted=any(piece.redacted for piece in pieces))
    if isinstance(end, tuple):
        return fixture_of_picked(end, pieces)
    if isinstance(end, MessageReceived):
        return _message(draft, end, body)
    return _came_back(draft, end, pieces, body)


def _came_back(draft: Draft, end: CallFinished, pieces: tuple[Piece, ...], body: ReadBody) -> Fixture:
    meta, result, error, receipt = end.meta, end.result, end.error, end.receipt
    at = draft.event_id(meta.seq)
    redacted = result is not None and result.redacted
    if error is not None or pieces:
        redacted = redacted or _is_redacted(error, pieces)
    return Fixture(
        end.outcome,
        body(result, at) if result is not None else None,
        _error(error, at, body) if error is not None else None,
        pieces,
        end.yields,
        end.gap,
        meta.seq,
        meta.hlc,
        end.unrecorded,
        redacted,
        end.usage,
        end.details,
        body(receipt, at) if receipt is not None else None,
    )


def _message(draft: Draft, end: MessageReceived, body: ReadBody) -> Fixture:
    return Fixture(
        outcome=CallOutcome.OK,
        result=body(end.body, draft.event_id(end.meta.seq)),
        yields=end.yields,
        gap=end.gap,
        seq=end.meta.seq,
        hlc=end.meta.hlc,
        redacted=end.body.redacted,
        message_id=end.message_id,
        from_agent_id=end.from_agent_id,
    )


def _piece(draft: Draft, chunk: CallChunk, body: ReadBody) -> Piece:
    meta = chunk.meta
    data = body(chunk.data, draft.event_id(meta.seq))
    return Piece(data, chunk.yields, chunk.gap, meta.seq, meta.hlc, chunk.data.redacted)


def _error(error: Error, at: str, body: ReadBody) -> RecordedError:
    arguments = body(error.arguments, at) if error.arguments is not None else None
    return RecordedError(error.type, error.bases, error.message, arguments)


def _is_redacted(error: Error | None, pieces: tuple[Piece, ...]) -> bool:
    arguments = error.arguments if error is not None else None
    return (arguments is not None and arguments.redacted) or any(piece.redacted for piece in pieces)
