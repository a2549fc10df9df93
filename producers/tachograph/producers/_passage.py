"""One live call through the boundary: recorded as it goes out, piece by piece, and as it comes back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tachograph.core.boundary import IMMEDIATE, WAITED, Chunk, Counted, Delivery, Envelope, Outcome, Request
from tachograph.core.canonical import encode_body
from tachograph.core.effects import transition
from tachograph.core.errors import AgentMisuse, EffectRefused, InternalError, SpoolUnwritable, UnserialisableValue
from tachograph.producers._entry import Draft
from tachograph.producers._failure import error_draft
from tachograph.producers._fields import details_fields, usage_fields
from tachograph.schemas import CallOutcome, EffectState

if TYPE_CHECKING:
    from tachograph.producers._ledger import Effect
    from tachograph.producers._tape import RecordingTape


class LivePassage:
    """A call that is executed and recorded.

    What comes back always reaches control logic: from here on nothing that goes wrong with the recording is raised.
    """

    __slots__ = ("_call_id", "_chunks", "_done", "_effect", "_left", "_request", "_tape", "_unrecorded", "_waited")

    live = True

    def __init__(self, tape: RecordingTape, request: Request, call_id: int, effect: Effect | None = None) -> None:
        self._tape = tape
        self._request = request
        self._call_id = call_id
        self._effect = effect
        self._chunks = 0
        self._unrecorded: str | None = None
        self._done = False
        self._left = False
        self._waited = False

    def leave(self) -> None:
        """Return once the call may leave: for an effect, when its record is durable.

        Raises:
            SpoolUnwritable: the record cannot be made durable; the effect must not be executed.
        """
        if self._effect is None:
            return
        try:
            self._tape.journal.settle(self._execute(self._effect), durable=True)
        except SpoolUnwritable:
            self._give_up()
            raise
        self._depart()

    async def leave_async(self) -> None:
        """`leave` without blocking the event loop.

        Raises:
            SpoolUnwritable: the record cannot be made durable; the effect must not be executed.
        """
        if self._effect is None:
            return
        ticket = self._execute(self._effect)
        turns = self._tape.turns
        durable = Counted(self._tape.journal.settle_async(ticket), turns)
        try:
            # Where turns cannot be counted, the boundary does not see that other tasks ran meanwhile.
            self._waited = await durable and not turns.loop.exact
        except SpoolUnwritable:
            self._give_up()
            raise
        except BaseException as error:
            cancelled = Outcome(CallOutcome.CANCELLED, error=error)
            self._never_left(cancelled, turns.delivery(durable.yields), "cancelled before it left")
            raise
        self._depart()

    def chunk(self, value: object, delivery: Delivery) -> None:
        """Record one piece of a streamed result."""
        data = self._encoded(value, f"chunk {self._chunks}: ")
        delivery = self._delivery(delivery)
        fields: dict[str, object] = {
            "call_id": self._call_id,
            "index": self._chunks,
            "yields": delivery.yields,
            "gap": delivery.gap,
        }
        self._chunks += 1
        self._tape.append_result(Draft("CallChunk", fields, (("data", data or b"null"),)))

    def finish(self, outcome: Outcome, delivery: Delivery) -> None:
        """Record how the call came back."""
        if self._done:
            return
        self._done = True
        delivery = self._delivery(delivery)
        if isinstance(outcome.value, Envelope) and self._request.kind == "messages":
            self._tape.received(self._call_id, outcome.value, delivery)
            return
        receipt = None if outcome.receipt is None else self._encoded(outcome.receipt, "the receipt: ")
        self._tape.append_result(self._finished(outcome, delivery, receipt))
        if self._effect is not None:
            self._tape.effect_ended(self._call_id)
            to = transition(self._effect.state, outcome.status)
            self._tape.append_result(self._effect.move(to, receipt=receipt))

    def abandoned(self) -> None:
        """The agent ends before the call came back: nobody will know what became of its effect."""
        self._done = True
        effect = self._effect
        if effect is None:
            return
        to = EffectState.UNKNOWN if self._left else EffectState.FAILED
        reason = f"the agent ended before the effect {'came back' if self._left else 'left'}"
        self._tape.append_result(effect.move(to, reason=reason))

    def next_chunk(self) -> Chunk | None:
        """Replay only."""
        raise InternalError("a live call was asked for recorded chunks")

    async def next_chunk_async(self) -> Chunk | None:
        """Replay only."""
        raise InternalError("a live call was asked for recorded chunks")

    def serve(self) -> Outcome:
        """Replay only."""
        raise InternalError("a live call was asked for a recorded outcome")

    async def serve_async(self) -> Outcome:
        """Replay only."""
        raise InternalError("a live call was asked for a recorded outcome")

    def _execute(self, effect: Effect) -> int:
        """Say that the effect is about to leave; another attempt may have left since this one was planned."""
        try:
            draft = effect.move(EffectState.EXECUTING)
        except EffectRefused as refusal:
            self._never_left(
                Outcome(CallOutcome.ERROR, error=refusal), IMMEDIATE, "refused: another attempt left first"
            )
            raise
        return self._tape.append(draft)

    def _depart(self) -> None:
        # First say so, then look: an end of the agent that comes in between finds the effect UNKNOWN, not FAILED.
        self._left = True
        if self._done:
            raise AgentMisuse(self._tape.agent_id, "it ended before its effect left", "Await its tasks before its end.")

    def _give_up(self) -> None:
        """The log is broken: the effect does not leave. No event can say so; the ledger of this process knows."""
        assert self._effect is not None
        self._done = True
        self._tape.effect_ended(self._call_id)
        self._effect.move(EffectState.FAILED)

    def _never_left(self, outcome: Outcome, delivery: Delivery, reason: str) -> None:
        if self._done:
            return
        assert self._effect is not None
        self._done = True
        self._tape.effect_ended(self._call_id)
        self._tape.append_result(self._finished(outcome, delivery, None))
        self._tape.append_result(self._effect.move(EffectState.FAILED, reason=reason))

    def _finished(self, outcome: Outcome, delivery: Delivery, receipt: bytes | None) -> Draft:
        failed = outcome.error is not None
        result = None if failed or self._chunks else self._encoded(outcome.value, "")
        fields: dict[str, object] = {
            "call_id": self._call_id,
            "outcome": outcome.status.value,
            "yields": delivery.yields,
            "gap": delivery.gap,
            "chunks": self._chunks,
            "unrecorded": self._unrecorded,
            "usage": usage_fields(outcome.usage),
            "details": details_fields(outcome.details),
        }
        error = error_draft(outcome.error) if outcome.error is not None else None
        return Draft("CallFinished", fields, (("receipt", receipt), ("result", result)), error)

    def _encoded(self, value: object, what: str) -> bytes | None:
        try:
            return encode_body(value)
        except UnserialisableValue as error:
            reason = f"{what}{error.type_name} at {error.path}: {error.reason}"
        except Exception as error:  # noqa: BLE001 a stranger's codec may fail in any way; the result must get through
            reason = f"{what}{type(value).__qualname__}: its codec raised {type(error).__name__}"
        self._unrecorded = self._unrecorded or reason
        self._tape.journal.unrecorded += 1
        return None

    def _delivery(self, delivery: Delivery) -> Delivery:
        if not self._waited:
            return delivery
        self._waited = False
        return delivery if delivery.yields == WAITED else self._tape.turns.delivery(WAITED)
