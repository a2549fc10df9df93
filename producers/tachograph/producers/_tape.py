"""The recording tape: one agent's stream, as the boundary drives it."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, cast

from tachograph.core.boundary import (
    IMMEDIATE,
    Delivery,
    Envelope,
    Fact,
    Outcome,
    Request,
    RunContext,
    Sources,
    TurnCounter,
)
from tachograph.core.canonical import decode_body
from tachograph.core.causality import EventId, check_id
from tachograph.core.errors import AgentMisuse, InternalError, SpoolUnwritable, TachographError
from tachograph.producers._entry import Draft, Sent, Stream
from tachograph.producers._fields import details_fields
from tachograph.producers._ledger import Effect
from tachograph.producers._messages import LocalEnvelope, for_transport, origin_of
from tachograph.producers._passage import LivePassage
from tachograph.schemas import CallOutcome

if TYPE_CHECKING:
    from tachograph.producers._journal import Journal
    from tachograph.producers._unit import Unit

_NULL = b"null"


class RecordingTape:
    """A `Tape` that writes. Safe to use from several threads: the queue gives every event its place."""

    __slots__ = ("_effects", "_messages", "_seen", "_stream", "_unit", "journal")

    def __init__(self, unit: Unit, stream: Stream) -> None:
        self._unit = unit
        self._stream = stream
        self._effects: dict[int, LivePassage] = {}
        self._messages = itertools.count(1)
        self._seen: set[str] = set()
        self.journal: Journal = unit.journal

    @property
    def sources(self) -> Sources:
        """Where clock reads, seeds and ids come from."""
        return self._unit.sources

    @property
    def turns(self) -> TurnCounter:
        """The turn counter of the running event loop, for this unit."""
        return self._unit.turns

    @property
    def run_id(self) -> str:
        """The run's id."""
        return self._stream.run_id

    @property
    def agent_id(self) -> str:
        """The agent's id."""
        return self._stream.agent_id

    @property
    def stream(self) -> Stream:
        """The stream that is written."""
        return self._stream

    def append(self, draft: Draft, *, last: bool = False) -> int:
        """Append an event of this stream; returns its ticket."""
        return self.journal.append(self._stream, draft, last=last)

    def append_result(self, draft: Draft) -> None:
        """Append what came back; a result is never lost to control logic because it cannot be recorded."""
        try:
            self.journal.append(self._stream, draft)
        except AgentMisuse:
            self.journal.late += 1
        except SpoolUnwritable:
            self.journal.dropped += 1

    def begin(self, request: Request) -> LivePassage:
        """A call goes out.

        Raises:
            UnserialisableValue: the arguments cannot be recorded.
            EffectRefused: the ledger refuses the effect; the refusal is recorded.
            StoreUnavailable: the ledger cannot find out about earlier attempts; the effect does not leave.
            AgentMisuse: the agent has ended.
            SpoolUnwritable: the log is broken.
        """
        arguments = _NULL if request.arguments is None else self._unit.encoded(request.arguments)
        if request.effect == "write":
            return self._begin_effect(request, arguments)
        draft = Draft("CallStarted", _started_fields(request, request.idempotency_key, 1), (("arguments", arguments),))
        self.journal.append(self._stream, draft)
        return LivePassage(self, request, draft.seq)

    def send(self, to_agent_id: str, body: object) -> Envelope:
        """A message goes out.

        Raises:
            UnserialisableValue: the message cannot be recorded; it is not sent.
            InvalidIdentifier: nobody can have this id.
        """
        stream = self._stream
        check_id("agent id", to_agent_id)
        data = self._unit.encoded(body)
        message_id = f"{stream.agent_id}#{stream.incarnation}/{next(self._messages)}"
        draft = Draft("MessageSent", {"message_id": message_id, "to_agent_id": to_agent_id}, (("body", data),))
        sent = draft.sent = Sent(stream, data)
        self.append(draft)
        return LocalEnvelope(
            stream.run_id, message_id, stream.agent_id, to_agent_id, decode_body(data),
            stream.incarnation, draft.seq, draft.hlc, "", sent,
        )  # fmt: skip

    def deliver(self, envelope: Envelope) -> None:
        """Hand an envelope to the transport."""
        transport = self._unit.transport
        transport.deliver(for_transport(envelope, transport, self.journal))

    async def deliver_async(self, envelope: Envelope) -> None:
        """`deliver` on an event loop.

        Writing the MessageSent first takes a fraction of a millisecond and does not give way: a replay has nothing
        to deliver and does not give way either, and the order in which tasks run must be the same.
        """
        transport = self._unit.transport
        await transport.deliver_async(for_transport(envelope, transport, self.journal))

    def collect(self) -> Envelope:
        """Wait for the next envelope for this agent."""
        while True:
            envelope = self._unit.transport.collect(self.run_id, self.agent_id)
            if self._is_new(envelope):
                return envelope

    async def collect_async(self) -> Envelope:
        """`collect` without blocking the event loop."""
        while True:
            envelope = await self._unit.transport.collect_async(self.run_id, self.agent_id)
            if self._is_new(envelope):
                return envelope

    def received(self, call_id: int, envelope: Envelope, delivery: Delivery) -> None:
        """Record that a message reaches control logic."""
        fields: dict[str, object] = {
            "call_id": call_id,
            "message_id": envelope.message_id,
            "from_agent_id": envelope.from_agent_id,
            "yields": delivery.yields,
            "gap": delivery.gap,
        }
        if not isinstance(envelope, LocalEnvelope):
            self._unit.observe(envelope.hlc, envelope.from_agent_id)
        body, causes = origin_of(envelope)
        draft = Draft("MessageReceived", fields, (("body", body),), None, causes)
        draft.written = self._unit.settled(envelope)
        self.append_result(draft)

    def note(self, fact: Fact) -> None:
        """Control logic states a fact.

        Raises:
            UnserialisableValue: the value cannot be recorded.
        """
        if fact.kind == "imported":
            value = cast("dict[str, object]", fact.value)
            self.append(_imported_draft(fact.name, value, self._unit.encoded(value["details"])))
        else:
            self.append(_fact_draft(fact, self._unit.encoded(fact.value)))

    def open(self, name: str, role: str) -> RecordingTape:
        """Open the stream of a child agent."""
        return self._unit.open_child(self, name, role)

    def close(self, outcome: Outcome) -> None:
        """End the stream: AgentFinished, or RunFinished for the root."""
        self._unit.close(self, outcome)

    def context(self) -> RunContext:
        """What another process needs to join the run here."""
        cause, hlc = self.journal.head(self._stream)
        return RunContext(cause.run_id, cause.agent_id, cause.incarnation, cause.seq, hlc, cause.hash.hex())

    def told(self, logical_time_us: int) -> None:
        """The agent was told this time."""
        self._stream.logical_time_us = logical_time_us

    def effect_ended(self, call_id: int) -> None:
        """An effect came back."""
        self._effects.pop(call_id, None)

    def abandon_effects(self) -> None:
        """The agent ends: what became of the effects that are still out nobody will know."""
        for call_id in tuple(self._effects):
            self._effects.pop(call_id).abandoned()

    def _begin_effect(self, request: Request, arguments: bytes) -> LivePassage:
        self.journal.check_writable()
        key = self._unit.clean_key(request.idempotency_key)
        name = self._unit.clean(request.name)
        fields = _started_fields(request, key, self._unit.attempt(name, key))
        draft = Draft("CallStarted", fields, (("arguments", arguments),))
        self.append(draft)
        stream = self._stream
        effect_id = str(EventId(stream.run_id, stream.agent_id, stream.incarnation, draft.seq))
        effect = Effect(self._unit.ledger, effect_id, name, key)
        try:
            effect.plan()
        except TachographError as refusal:  # refused, or nobody can say what happened before: it does not leave
            LivePassage(self, request, draft.seq).finish(Outcome(CallOutcome.ERROR, error=refusal), IMMEDIATE)
            raise
        passage = self._effects[draft.seq] = LivePassage(self, request, draft.seq, effect)
        return passage

    def _is_new(self, envelope: Envelope) -> bool:
        """Transports deliver at least once; control logic gets each message once."""
        if isinstance(envelope, LocalEnvelope):
            return True
        if envelope.message_id in self._seen:
            return False
        self._seen.add(envelope.message_id)
        return True


def _started_fields(request: Request, key: str | None, attempt: int) -> dict[str, object]:
    return {
        "kind": request.kind,
        "name": request.name,
        "version": request.version,
        "effect": request.effect,
        "idempotency_key": key,
        "attempt": attempt,
        "details": None if request.details is None else details_fields(request.details),
    }


def _fact_draft(fact: Fact, value: bytes) -> Draft:
    if fact.kind == "state":
        return Draft("StateChanged", {"key": fact.name}, (("value", value),))
    if fact.kind == "checkpoint":
        return Draft("Checkpointed", {"name": fact.name}, (("state", value),))
    if fact.kind == "artifact":
        return Draft("ArtifactWritten", {"name": fact.name, "media_type": fact.media_type}, (("body", value),))
    raise InternalError(f"a fact of kind {fact.kind!r} is stated, which no event can carry")


def _imported_draft(source: str, value: dict[str, object], details: bytes) -> Draft:
    fields: dict[str, object] = {"source": source, "fidelity": value["fidelity"], "missing": value["missing"]}
    return Draft("RunImported", fields, (("details", None if details == _NULL else details),))
