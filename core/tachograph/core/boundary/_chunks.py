"""Streamed results, piece by piece: recorded as they come, served as they came."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, AsyncIterable, Callable
from typing import cast

from tachograph.core.boundary._delivery import Counted
from tachograph.core.boundary._door import unwrap
from tachograph.core.boundary._failure import outcome_of_error
from tachograph.core.boundary._tape import Passage
from tachograph.core.boundary._turns import TurnCounter
from tachograph.core.boundary._values import IMMEDIATE, Outcome, Request
from tachograph.schemas import CallOutcome

_STOPPED = Outcome(CallOutcome.CANCELLED)
"""Control logic stopped reading before the stream ended."""


async def live_chunks(
    passage: Passage, request: Request, turns: TurnCounter, function: Callable[[], object]
) -> AsyncGenerator[object, None]:
    """Run a streaming call and record each piece before control logic sees it."""
    start: int | None = turns.mark()
    opened: Counted[object] = Counted(_opened(function), turns)
    step: Counted[object] | None = opened
    try:
        pieces = aiter(cast("AsyncIterable[object]", await opened))
        while True:
            step = Counted(anext(pieces), turns, start)
            try:
                piece = await step
            except StopAsyncIteration:
                passage.finish(Outcome(CallOutcome.OK), turns.delivery_of(step, passage))
                return
            passage.chunk(piece, turns.delivery_of(step, passage))
            start, step = None, None
            yield piece
    except GeneratorExit:
        passage.finish(_STOPPED, IMMEDIATE)
        raise
    except BaseException as error:
        passage.finish(outcome_of_error(request, error), turns.delivery_of(step, passage))
        raise


async def _opened(function: Callable[[], object]) -> object:
    source = function()
    return await source if inspect.isawaitable(source) else source


async def served_chunks(passage: Passage) -> AsyncGenerator[object, None]:
    """Serve the recorded pieces, then the recorded end."""
    try:
        while (chunk := await passage.next_chunk_async()) is not None:
            yield chunk.value
    except GeneratorExit:
        passage.finish(_STOPPED, IMMEDIATE)
        raise
    unwrap(await passage.serve_async())
