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
    waiting_call,
)
from tachograph.core.canonical import decode_body, encode_body
from tachograph.core.causality import EventId, check_id
from tachograph.core.errors import AgentMisuse, InternalError, SpoolUnwritable, TachographError, UnserialisableValue
from tachograph.producers._effect_passage import EffectPassage
from tachograph.producers._entry import Draft, Extra, Fields, Sent, Stream
from tachograph.producers._ledger import Effect
from tachograph.producers._messages import LocalEnvelope, for_transport, origin_of
from tachograph.producers._passage import LivePassage, ReceivePassage
from tachograph.schemas import CallOutcome

if TYPE_CHECKING:
    from tachograph.producers._journal import Journal
    from tachograph.producers._unit import Unit

_NULL = b"null"


class RecordingTape:
    """A `Tape` that writes. Safe to use from several threads: the queue gives every event its place."""

    __slots__ = ("_effects", "_encoded", "_messages", "_seen", "_timers", "_unit", "journal", "put", "stream")

    def __init__(self, unit: Unit, stream: Stream) -> None:
        self._unit = unit
        self.stream = stream
        self._effects: dict[int, EffectPassage] = {}
        self._messages = itertools.count(1)
        self._timers = itertools.count(1)
        self._seen: set[str] = set()
        self.journal: Journal = unit.journal
        self.put = unit.journal.put
        self._encoded = unit.encoded

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
        return self.stream.run_id

    @property
    def agent_id(self) -> str:
        """The agent's id."""
        return self.stream.agent_id

    def append(self, draft: Draft, *, last: bool = False) -> int:
        """Append an event of this stream; returns its ticket."""
        return self.journal.append(self.stream, draft, last=last)

    def append_result(self, draft: Draft) -> None:
        """`result` of a draft."""
        self.result(draft.type, draft.fields, draft.size(), draft.extra)

    def result(self, event_type: str, fields: dict[str, object], size: int, extra: Extra | None = None) -> None:
        """Append what came back; a result is never lost to control logic because it cannot be recorded."""
        try:
            self.put(self.stream, event_type, fields, size, extra)
        except (AgentMisuse, SpoolUnwritable) as error:
            self.lost(error)

    def clean(self, text: str) -> str:
        """The text without a secret."""
        return self._unit.clean(text)

    def lost(self, error: AgentMisuse | SpoolUnwritable) -> None:
        """Count a result that is not in the log."""
        if isinstance(error, AgentMisuse):
            self.journal.late += 1
        else:
            self.journal.dropped += 1

    def begin(self, request: Request) -> LivePassage:
        """A call goes out.

        Raises:
            UnserialisableValue: the arguments cannot be recorded.
            EffectRefused: the ledger refuses the effect; the refusal is recorded.
            StoreUnavailable: the ledger cannot find out about earlier attempts; the effect does not leave.
            AgentMisuse: the agent has ended, or is used within a call.
            SpoolUnwritable: the log is broken.
        """
        if waiting_call() is not None:
            raise AgentMisuse.within_call(self.agent_id, f"{request.kind} {request.name!r} is asked for")
        try:
            arguments = encode_body(request.arguments, ordered=False)
        except UnserialisableValue as error:
            raise self._unit.cleaned(error) from None
        kind, name, version, effect = request.kind, request.name, request.version, request.effect
        fields: Fields
        if (
            request.idempotency_key is None
            and request.details is None
            and type(name) is str
            and (version is None or type(version) is str)
        ):
            fields = (kind, name, version, effect, arguments)
        else:
            fields = self._fields(request, arguments)
        if effect == "write":
            return self._begin_effect(request, fields, len(arguments))
        call_id = self.put(self.stream, "CallStarted", fields, len(arguments))
        return (ReceivePassage if kind == "messages" else LivePassage)(self, call_id, name)

    def send(self, to_agent_id: str, body: object) -> Envelope:
        """A message goes out.

        Raises:
            UnserialisableValue: the message cannot be recorded; it is not sent.
            InvalidIdentifier: nobody can have this id.
            AgentMisuse: the agent is used within a call.
        """
        if waiting_call() is not None:
            raise AgentMisuse.within_call(self.agent_id, f"a message to {to_agent_id!r} is sent")
        stream = self.stream
        check_id("agent id", to_agent_id)
        data = self._encoded(body, ordered=False)
        message_id = f"{stream.agent_id}#{stream.incarnation}/{next(self._messages)}"
        fields: dict[str, object] = {"message_id": message_id, "to_agent_id": to_agent_id, "body": data}
        sent = Sent(stream, data)
        self.put(stream, "MessageSent", fields, len(data), Extra(sent=sent))
        return LocalEnvelope(
            stream.run_id, message_id, stream.agent_id, to_agent_id, decode_body(data),
            stream.incarnation, sent.seq, sent.hlc, "", sent,
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
        if not isinstance(envelope, LocalEnvelope):
            self._unit.observe(envelope.hlc, envelope.from_agent_id)
        body, causes = origin_of(envelope)
        fields: dict[str, object] = {
            "call_id": call_id,
            "message_id": envelope.message_id,
            "from_agent_id": envelope.from_agent_id,
            "yields": delivery.yields,
            "gap": delivery.gap,
            "body": body,
        }
        extra = Extra(causes=causes, written=self._unit.settled(envelope))
        self.result("MessageReceived", fields, len(body), extra)

    def note(self, fact: Fact) -> None:
        """Control logic states a fact.

        Raises:
            UnserialisableValue: the value cannot be recorded.
            AgentMisuse: the agent is used within a call.
        """
        if waiting_call() is not None:
            raise AgentMisuse.within_call(self.agent_id, f"{fact.kind} {fact.name!r} is recorded")
        if fact.kind == "imported":
            value = cast("dict[str, object]", fact.value)
            self.append(_imported_draft(fact.name, value, self._encoded(value["details"])))
        else:
            self.append(_fact_draft(fact, self._encoded(fact.value, ordered=False)))

    def open(self, name: str, role: str) -> RecordingTape:
        """Open the stream of a child agent.

        Raises:
            AgentMisuse: the agent is used within a call.
        """
        if waiting_call() is not None:
            raise AgentMisuse.within_call(self.agent_id, f"agent {name!r} is opened")
        return self._unit.open_child(self, name, role)

    def close(self, outcome: Outcome) -> None:
        """End the stream: AgentFinished, or RunFinished for the root."""
        self._unit.close(self, outcome)

    def context(self) -> RunContext:
        """What another process needs to join the run here."""
        cause, hlc = self.journal.head(self.stream)
        return RunContext(cause.run_id, cause.agent_id, cause.incarnation, cause.seq, hlc, cause.hash.hex())

    def set_timer(self) -> int:
        """Control logic sets a timer on its event loop: its number within the stream."""
        return next(self._timers)

    def timer_fired(self, number: int, delay_us: int) -> None:
        """A timer of control logic fires."""
        if not self.stream.ended:
            fields: dict[str, object] = {"number": number, "delay_us": delay_us, "gap": self.turns.gap()}
            self.append_result(Draft("TimerFired", fields))

    def told(self, logical_time_us: int) -> None:
        """The agent was told this time."""
        self.stream.logical_time_us = logical_time_us

    def effect_ended(self, call_id: int) -> None:
        """An effect came back."""
        self._effects.pop(call_id, None)

    def abandon_effects(self) -> None:
        """The agent ends: what became of the effects that are still out nobody will know."""
        for call_id in tuple(self._effects):
            self._effects.pop(call_id).abandoned()

    def _fields(self, request: Request, arguments: bytes) -> dict[str, object]:
        key = request.idempotency_key
        return {
            "kind": request.kind,
            "name": request.name,
            "version": request.version,
            "effect": request.effect,
            "idempotency_key": None if key is None else self._unit.clean(key),
            "attempt": 1,
            "details": request.details,
            "arguments": arguments,
        }

    def _begin_effect(self, request: Request, fields: Fields, size: int) -> LivePassage:
        self.journal.check_writable()
        name = self._unit.clean(request.name)
        key: str | None = None
        if isinstance(fields, dict):
            key = cast("str | None", fields["idempotency_key"])
            fields["attempt"] = self._unit.attempt(name, key)
        stream = self.stream
        call_id = self.put(stream, "CallStarted", fields, size)
        effect_id = str(EventId(stream.run_id, stream.agent_id, stream.incarnation, call_id))
        effect = Effect(self._unit.ledger, effect_id, name, key)
        try:
            effect.plan(self._unit.claim_effect)
        except TachographError as refusal:  # refused, or nobody can say what happened before: it does not leave
            LivePassage(self, call_id, name).finish(Outcome(CallOutcome.ERROR, error=refusal), IMMEDIATE)
            raise
        passage = self._effects[call_id] = EffectPassage(self, call_id, effect)
        return passage

    def _is_new(self, envelope: Envelope) -> bool:
        """Transports deliver at least once; control logic gets each message once."""
        if isinstance(envelope, LocalEnvelope):
            return True
        if envelope.message_id in self._seen:
            return False
        self._seen.add(envelope.message_id)
        return True


def _fact_draft(fact: Fact, value: bytes) -> Draft:
    if fact.kind == "state":
        return Draft("StateChanged", {"key": fact.name, "value": value})
    if fact.kind == "checkpoint":
        return Draft("Checkpointed", {"name": fact.name, "state": value})
    if fact.kind == "artifact":
        return Draft("ArtifactWritten", {"name": fact.name, "media_type": fact.media_type, "body": value})
    raise InternalError(f"a fact of kind {fact.kind!r} is stated, which no event can carry")


def _imported_draft(source: str, value: dict[str, object], details: bytes) -> Draft:
    fields: dict[str, object] = {
        "source": source,
        "fidelity": value["fidelity"],
        "missing": value["missing"],
        "details": None if details == _NULL else details,
    }
    return Draft("RunImported", fields)
