"""Streamed results, piece by piece: recorded as they come, served as they came."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, AsyncIterable, Callable
from typing import cast

from tachograph.core.boundary._delivery import WAITED, Counted, TurnCounter
from tachograph.core.boundary._door import unwrap
from tachograph.core.boundary._failure import outcome_of_error
from tachograph.core.boundary._tape import Passage
from tachograph.core.boundary._values import IMMEDIATE, Outcome, Request
from tachograph.schemas import CallOutcome

_STOPPED = Outcome(CallOutcome.CANCELLED)
"""Control logic stopped reading before the stream ended."""


async def live_chunks(
    passage: Passage, request: Request, turns: TurnCounter, function: Callable[[], object]
) -> AsyncGenerator[object, None]:
    """Run a streaming call and record each piece before control logic sees it."""
    try:
        source = function()
        opening = 0
        if inspect.isawaitable(source):
            opened = Counted(source)
            source = await opened
            opening = opened.yields
        pieces = aiter(cast("AsyncIterable[object]", source))
        while True:
            step = Counted(anext(pieces))
            try:
                piece = await step
            except StopAsyncIteration:
                passage.finish(Outcome(CallOutcome.OK), turns.delivery(_together(opening, step.yields)))
                return
            passage.chunk(piece, turns.delivery(_together(opening, step.yields)))
            opening = 0
            yield piece
    except GeneratorExit:
        passage.finish(_STOPPED, IMMEDIATE)
        raise
    except BaseException as error:
        passage.finish(outcome_of_error(request, error), IMMEDIATE)
        raise


async def served_chunks(passage: Passage) -> AsyncGenerator[object, None]:
    """Serve the recorded pieces, then the recorded end."""
    try:
        while (chunk := await passage.next_chunk_async()) is not None:
            yield chunk.value
    except GeneratorExit:
        passage.finish(_STOPPED, IMMEDIATE)
        raise
    unwrap(await passage.serve_async())


def _together(first: int, second: int) -> int:
    """The yields of two awaits in a row."""
    return WAITED if WAITED in (first, second) else first + second
