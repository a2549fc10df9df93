"""One call of a fork: answered and never executed, and written down as it came back."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TypeVar

from tachograph.core.boundary import (
    Chunk,
    Counted,
    Delivery,
    Outcome,
    Request,
    Waiting,
    described,
    outcome_of_error,
)
from tachograph.core.canonical import decode_body
from tachograph.core.replay import Fixture, Piece
from tachograph.replay_workers._fork_answers import Answer
from tachograph.replay_workers._fork_details import details_fields
from tachograph.replay_workers._fork_draft import Payload
from tachograph.replay_workers._fork_effects import ForkEffects
from tachograph.replay_workers._fork_failure import failure_of
from tachograph.replay_workers._fork_session import ForkSession, Found
from tachograph.replay_workers._halt import Halt
from tachograph.replay_workers._passage import ReplayPassage
from tachograph.replay_workers._places import END
from tachograph.replay_workers._stream import Stream
from tachograph.schemas import CallOutcome

T = TypeVar("T")

_NOT_EXECUTED = "answered in a fork, where effects are never executed"
_STOPPED = Outcome(CallOutcome.CANCELLED)


class ForkPassage(ReplayPassage):
    """A call that is answered."""

    __slots__ = ("_answer", "_call_id", "_chunks", "_counted_call", "_done", "_effects", "_fork")

    def __init__(
        self,
        fork: ForkSession,
        stream: Stream,
        request: Request,
        answer: Answer,
        call_id: int,
        effects: ForkEffects | None = None,
    ) -> None:
        as_parent = answer.strict and answer.origin == "recorded"
        super().__init__(fork, stream, request, answer.step, answer.fixture, tentative=not as_parent)
        self._fork = fork
        self._answer = answer
        self._call_id = call_id
        self._effects = effects
        self._chunks = 0
        self._counted_call: Waiting | None = None
        """The part of the answer that came last, where it was awaited."""
        self._done = False

    def serve(self) -> Outcome:
        """The answer."""
        if self._answer.origin == "recorded":
            outcome = super().serve()
        else:
            if self._answer.has_place:
                self._fork.schedule.arrived(self._place(END))
            outcome = self._plain(self._answer)
        self._answered(outcome, 0)
        return outcome

    async def serve_async(self) -> Outcome:
        """The answer, delivered as the recorded one was."""
        outcome, yields = await self._counted(self._served())
        self._answered(outcome, yields)
        return outcome

    async def _served(self) -> Outcome:
        if self._answer.origin == "recorded":
            return await super().serve_async()
        if self._answer.has_place:
            await self._deliver(self._answer.fixture.yields, END)
        return self._plain(self._answer)

    async def _counted(self, inner: Awaitable[T]) -> tuple[T, int]:
        """Await a part of the answer and count its turns; control logic may end the call meanwhile."""
        counted = self._counted_call = Counted(inner, self._fork.turns)
        key = (self._stream.key, self._call_id)
        self._fork.waiting[key] = f"{self._stream.key[0]!r} for {self._request.kind} {self._request.name}"
        try:
            value = await counted
        except Halt:
            raise
        except BaseException as error:
            self._broken_off(outcome_of_error(self._request, error), counted.yields)
            raise
        finally:
            self._fork.waiting.pop(key, None)
        return value, counted.yields

    def next_chunk(self) -> Chunk | None:
        """The next piece."""
        if not self._answer.has_place:
            return None
        piece = super().next_chunk()
        if piece is not None:
            self._chunk(0)
        return piece

    async def next_chunk_async(self) -> Chunk | None:
        """The next piece, delivered as the recorded one was."""
        if not self._answer.has_place or self._chunks >= len(self._answer.fixture.pieces):
            return None
        piece, yields = await self._counted(super().next_chunk_async())
        if piece is not None:
            self._chunk(yields)
        return piece

    def finish(self, outcome: Outcome, delivery: Delivery) -> None:
        """Control logic stopped reading a stream."""
        if self._answer.has_place:
            super().finish(outcome, delivery)
        self._broken_off(_STOPPED, 0)

    def _plain(self, answer: Answer) -> Outcome:
        result = answer.fixture.result
        return Outcome(CallOutcome.OK, value=decode_body(result) if result is not None else None)

    def _answered(self, outcome: Outcome, yields: int) -> None:
        """Write down how the call came back with its answer."""
        if self._done:
            return
        self._done = True
        fixture = self._answer.fixture
        fields = self._fields(yields, fixture)
        if self._answer.origin == "recorded":
            self._as_recorded(fields)
        else:
            body = self._fork.redacted(fixture.result) if fixture.result is not None else None
            self._own_end(fields, described(self._request.kind, outcome), body)
        self._effect_over(outcome)

    def _broken_off(self, outcome: Outcome, yields: int) -> None:
        """Write down that control logic ended the call."""
        if self._done or self._fork.schedule.halted:
            return
        self._done = True
        fixture = self._answer.fixture
        ended_so = fixture.outcome is CallOutcome.CANCELLED and self._chunks == len(fixture.pieces)
        if self._answer.origin == "recorded" and ended_so:
            self._as_recorded(self._fields(yields, fixture))
        else:
            self._fork.apart = True
            self._own_end(self._fields(yields, fixture), outcome, None)
        self._effect_over(outcome)

    def _as_recorded(self, fields: dict[str, object]) -> None:
        seq = self._answer.fixture.seq
        bodies: dict[str, Payload | None] = {"receipt": None} if self._is_effect else {}
        self._fork.draft(self._stream, "CallFinished", fields, bodies, source=seq, origin=seq)

    def _fields(self, yields: int, recorded: Fixture | Piece) -> dict[str, object]:
        """Which call it belongs to, and how it was delivered: as recorded while the fork does what its parent did."""
        turns = self._fork.turns
        if self._fork.apart or self._answer.origin != "recorded":
            delivery = turns.delivery(yields, self._counted_call)
            return {"call_id": self._call_id, "yields": delivery.yields, "gap": delivery.gap}
        turns.delivery(recorded.yields)  # what is counted from moves on as it did
        return {"call_id": self._call_id, "yields": recorded.yields, "gap": recorded.gap}

    def _own_end(self, fields: dict[str, object], outcome: Outcome, result: Payload | None) -> None:
        fields |= {
            "outcome": outcome.status.value, "chunks": self._chunks, "unrecorded": None, "usage": None,
            "details": details_fields(self._fork, outcome.details),
        }  # fmt: skip
        bodies: dict[str, Payload | None] = {"receipt": None, "result": result}
        failure = failure_of(self._fork, outcome.error) if outcome.error is not None else None
        self._fork.draft(self._stream, "CallFinished", fields, bodies, error=failure)

    def _chunk(self, yields: int) -> None:
        piece = self._answer.fixture.pieces[self._chunks]
        fields = {**self._fields(yields, piece), "index": self._chunks}
        self._chunks += 1
        if piece.seq:
            self._fork.draft(self._stream, "CallChunk", fields, source=piece.seq, origin=piece.seq)
        else:
            self._fork.draft(self._stream, "CallChunk", fields, {"data": self._fork.redacted(piece.data)})

    @property
    def _is_effect(self) -> bool:
        return self._request.effect == "write"

    def _effect_over(self, outcome: Outcome) -> None:
        """What control logic holds the effect for stays in the fork; for everybody else it was not executed."""
        if not self._is_effect or self._effects is None:
            return
        step = self._answer.step
        self._effects.came_back(self._request, step, Found(step), outcome.status)
        fields: dict[str, object] = {
            "effect_id": self._call_id,
            "name": self._fork.clean(self._request.name),
            "idempotency_key": self._effects.key(self._request),
            "from_state": "PLANNED",
            "to_state": "FAILED",
            "reason": _NOT_EXECUTED,
            "by": "recorder",
        }
        self._fork.draft(self._stream, "EffectTransitioned", fields, {"receipt": None})
