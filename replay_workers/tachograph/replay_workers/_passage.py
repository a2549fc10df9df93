"""One replayed call: its recorded outcome, delivered as it was recorded."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import suppress
from types import coroutine

from tachograph.core.boundary import (
    CANCELLED,
    CANCELLED_WAITED,
    READY_WAITED,
    WAITED,
    Chunk,
    Delivery,
    Outcome,
    Request,
)
from tachograph.core.canonical import decode_body
from tachograph.core.errors import InternalError, UnreadableBody
from tachograph.core.replay import Fixture, Step
from tachograph.replay_workers._places import BARE_TURNS_MAX, END, after_turns, own_turns
from tachograph.replay_workers._session import Session
from tachograph.replay_workers._stream import Stream
from tachograph.schemas import CallOutcome


class ReplayPassage:
    """A call that is served and never executed."""

    __slots__ = ("_fixture", "_piece", "_request", "_session", "_step", "_stream", "_tentative")

    live = False
    over = False

    def __init__(
        self,
        session: Session,
        stream: Stream,
        request: Request,
        step: Step,
        fixture: Fixture,
        tentative: bool = False,
    ) -> None:
        self._session = session
        self._stream = stream
        self._request = request
        self._step = step
        self._fixture = fixture
        self._tentative = tentative
        self._piece = 0

    def leave(self) -> None:
        """Never asked."""
        raise InternalError("a replayed call was to leave")

    async def leave_async(self) -> None:
        """Never asked."""
        raise InternalError("a replayed call was to leave")

    def chunk(self, value: object, delivery: Delivery) -> None:
        """Never asked."""
        raise InternalError("a replayed call was to be recorded")

    def finish(self, outcome: Outcome, delivery: Delivery) -> None:
        """Control logic stopped reading a stream."""
        fixture = self._fixture
        self._session.schedule.arrived(self._place(END))
        stopped = fixture.outcome is CallOutcome.CANCELLED and self._piece == len(fixture.pieces)
        if not stopped and not self._tentative:
            self._session.ended_otherwise(self._step, CallOutcome.CANCELLED, self._piece, len(fixture.pieces))

    def next_chunk(self) -> Chunk | None:
        """The next recorded piece."""
        if self._piece >= len(self._fixture.pieces):
            return None
        self._session.schedule.arrived(self._place(self._piece))
        return self._next()

    async def next_chunk_async(self) -> Chunk | None:
        """The next recorded piece, delivered as it was recorded."""
        if self._piece >= len(self._fixture.pieces):
            return None
        await self._deliver(self._fixture.pieces[self._piece].yields, self._piece)
        return self._next()

    def serve(self) -> Outcome:
        """The recorded outcome."""
        if self._fixture.outcome is None:
            raise self._session.never_back(self._step)
        self._check_stopped()
        self._session.schedule.arrived(self._place(END))
        return self._session.outcome(self._request, self._stream, self._step, self._fixture)

    async def serve_async(self) -> Outcome:
        """The recorded outcome, delivered as it was recorded."""
        fixture = self._fixture
        if fixture.outcome is None:
            await asyncio.get_running_loop().create_future()
        elif fixture.outcome is CallOutcome.CANCELLED:
            self._check_stopped()
        if fixture.yields:
            await self._deliver(fixture.yields, END)
        return self._session.outcome(self._request, self._stream, self._step, fixture)

    def _check_stopped(self) -> None:
        """Nobody knows what comes where control logic stopped reading a stream in the recording."""
        fixture = self._fixture
        if self._tentative or fixture.outcome is not CallOutcome.CANCELLED or fixture.error is not None:
            return
        self._session.ended_otherwise(self._step, CallOutcome.OK)
        raise self._session.halt()

    async def _deliver(self, yields: int, piece: int) -> None:
        if yields == 0:
            return
        if yields > 0 or yields == WAITED:
            await self._arrival(self._turns(yields, piece), piece)
            return
        try:
            await self._until_cancelled(yields, piece)
        except asyncio.CancelledError:
            if self._request.kind == "messages":
                self._session.schedule.given_back(self._place(piece))
            await self._cleaned_up(yields, piece)
            if self._fixture.outcome is CallOutcome.CANCELLED:
                raise

    def _turns(self, yields: int, piece: int) -> int | None:
        """The turns that it takes, where these tell its place; None: it has to be waited for."""
        schedule = self._session.schedule
        if self._request.kind != "messages":
            return own_turns(yields) if yields > 0 else schedule.expected_turns(self._place(piece))
        # A message takes its place from its sender's: its turns need not tell where in its turn it comes.
        return None if schedule.is_mailed(self._place(piece)) else schedule.expected_turns(self._place(piece))

    async def _arrival(self, turns: int | None, piece: int) -> None:
        schedule = self._session.schedule
        try:
            if turns is not None and turns <= BARE_TURNS_MAX:
                for _ in range(turns):
                    await _turn()
                schedule.arrived(self._place(piece))
            else:
                await schedule.arrival(self._place(piece))
        except asyncio.CancelledError:
            schedule.arrived(self._place(piece))
            if not self._tentative:
                self._session.ended_otherwise(self._step, CallOutcome.CANCELLED)
            raise

    async def _until_cancelled(self, yields: int, piece: int) -> None:
        """Wait until control logic cancels the call, as it did in the recording; never returns."""
        schedule, place = self._session.schedule, self._place(piece)
        turns = own_turns(yields)
        mailed = self._request.kind == "messages" and schedule.is_mailed(place)
        if turns is not None and turns <= BARE_TURNS_MAX and not mailed:
            for _ in range(turns):
                await _turn()
        elif turns is not None or yields <= READY_WAITED:
            await schedule.arrival(place, deaf=True)
        await schedule.cancellation(place, ends=yields == CANCELLED)

    async def _cleaned_up(self, yields: int, piece: int) -> None:
        """The cancelled call took some more turns to end."""
        schedule, place = self._session.schedule, self._place(piece)
        turns = after_turns(yields)
        if yields == CANCELLED_WAITED:
            await schedule.arrival(place)
        elif turns and schedule.is_early(place, turns):
            with suppress(asyncio.CancelledError):  # cancelled again while it cleans up
                await schedule.arrival(place, deaf=True)
        else:
            for _ in range(turns):
                with suppress(asyncio.CancelledError):  # cancelled again while it cleans up
                    await _turn()
        schedule.arrived(place)

    def _next(self) -> Chunk:
        piece = self._fixture.pieces[self._piece]
        self._piece += 1
        self._stream.latest_seq = max(self._stream.latest_seq, piece.seq)
        try:
            return Chunk(decode_body(piece.data))
        except UnreadableBody as failure:
            raise self._session.unreadable(self._step, failure) from None

    def _place(self, piece: int) -> tuple[tuple[str, int], int, int]:
        return self._stream.key, self._step.number, piece


@coroutine
def _turn() -> Generator[None, None, None]:
    """Give way to the loop once."""
    yield
