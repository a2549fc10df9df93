"""Live calls through the boundary: recorded as they go out, piece by piece, and as they come back.

What comes back always reaches control logic: nothing that goes wrong with recording it is raised.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tachograph.core.boundary import Chunk, Delivery, Envelope, Outcome
from tachograph.core.canonical import encode_body
from tachograph.core.errors import AgentMisuse, InternalError, SpoolUnwritable, UnserialisableValue
from tachograph.producers._entry import Extra, Fields
from tachograph.producers._failure import error_draft
from tachograph.producers._unrecorded import warn_once
from tachograph.schemas import CallOutcome

if TYPE_CHECKING:
    from tachograph.producers._tape import RecordingTape


class LivePassage:
    """A call that is executed and recorded, and is no effect."""

    __slots__ = ("call_id", "chunks", "done", "name", "tape", "unrecorded")

    live = True

    def __init__(self, tape: RecordingTape, call_id: int, name: str) -> None:
        self.tape = tape
        self.name = name
        self.call_id = call_id
        self.chunks = 0
        self.unrecorded: str | None = None
        self.done = False

    @property
    def over(self) -> bool:
        """Whether nothing more of it is recorded, because its agent has ended."""
        return self.tape.stream.ended

    def leave(self) -> None:
        """Leave at once."""

    async def leave_async(self) -> None:
        """Leave at once."""

    def chunk(self, value: object, delivery: Delivery) -> None:
        """Record one piece of a streamed result."""
        data = self.encoded(value, f"chunk {self.chunks}: ") or b"null"
        fields: dict[str, object] = {
            "call_id": self.call_id,
            "index": self.chunks,
            "yields": delivery.yields,
            "gap": delivery.gap,
            "data": data,
        }
        self.chunks += 1
        self.tape.result("CallChunk", fields, len(data))

    def finish(self, outcome: Outcome, delivery: Delivery) -> None:
        """Record how the call came back."""
        if not self.done:
            self.done = True
            self.finished(outcome, delivery)

    def finished(self, outcome: Outcome, delivery: Delivery) -> bytes | None:
        """Write CallFinished; gives the receipt, if there is one."""
        result: bytes | None = None
        if outcome.error is None and not self.chunks:
            try:
                result = encode_body(outcome.value)
            except Exception as reason:  # noqa: BLE001 a stranger's codec may fail in any way; the result must get through
                self.not_recorded(outcome.value, reason, "")
        if result is None or outcome.receipt is not None or outcome.details is not None or outcome.usage is not None:
            return self._finished_with_more(outcome, delivery, result)
        status = "OK" if outcome.status is CallOutcome.OK else outcome.status.value  # an enum's value is dear
        self._ended((self.call_id, status, delivery.yields, delivery.gap, result), len(result))
        return None

    def _finished_with_more(self, outcome: Outcome, delivery: Delivery, result: bytes | None) -> bytes | None:
        receipt = None if outcome.receipt is None else self.encoded(outcome.receipt, "the receipt: ")
        error = outcome.error
        fields: dict[str, object] = {
            "call_id": self.call_id,
            "outcome": outcome.status.value,
            "yields": delivery.yields,
            "gap": delivery.gap,
            "chunks": self.chunks,
            "unrecorded": self.unrecorded,
            "usage": outcome.usage,
            "details": outcome.details,
            "error": None,
            "receipt": receipt,
            "result": result,
        }
        extra = None if error is None else Extra(error_draft(error))
        self._ended(fields, 0 if result is None else len(result), extra)
        return receipt

    def _ended(self, fields: Fields, size: int, extra: Extra | None = None) -> None:
        tape = self.tape
        try:
            tape.put(tape.stream, "CallFinished", fields, size, extra)
        except (AgentMisuse, SpoolUnwritable) as lost:
            tape.lost(lost)

    def encoded(self, value: object, what: str) -> bytes | None:
        """What came back, as canonical JSON; None, and why, where it cannot be."""
        try:
            return encode_body(value)
        except Exception as reason:  # noqa: BLE001 a stranger's codec may fail in any way; the result must get through
            self.not_recorded(value, reason, what)
            return None

    def not_recorded(self, value: object, error: Exception, what: str) -> None:
        """Keep the first reason why something is not in the record."""
        if isinstance(error, UnserialisableValue):
            reason = f"{what}{error.type_name} at {error.path}: {error.reason}"
        else:
            reason = f"{what}{type(value).__qualname__}: its codec raised {type(error).__name__}"
        self.unrecorded = self.unrecorded or reason
        self.tape.journal.unrecorded += 1
        warn_once(self.tape.clean(self.name), value, error)

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


class ReceivePassage(LivePassage):
    """A `receive`: it ends in MessageReceived."""

    __slots__ = ()

    def finish(self, outcome: Outcome, delivery: Delivery) -> None:
        """Record the message, or why none came."""
        if isinstance(outcome.value, Envelope) and not self.done:
            self.done = True
            self.tape.received(self.call_id, outcome.value, delivery)
        else:
            super().finish(outcome, delivery)
