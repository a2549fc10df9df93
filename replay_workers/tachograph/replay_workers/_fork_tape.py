"""The forking tape: answered by the recording, the fork's options or nobody, and written down as a run of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from tachograph.core.boundary import Envelope, Fact, Outcome, Request, RunContext
from tachograph.core.canonical import encode_body
from tachograph.core.causality import check_id
from tachograph.core.errors import AgentMisuse, EffectRefused
from tachograph.core.replay import Step
from tachograph.replay_workers._fork_change import Sent
from tachograph.replay_workers._fork_details import details_fields
from tachograph.replay_workers._fork_draft import Payload
from tachograph.replay_workers._fork_effects import ForkEffects
from tachograph.replay_workers._fork_ends import ending, ending_fields
from tachograph.replay_workers._fork_failure import failure_of
from tachograph.replay_workers._fork_passage import ForkPassage
from tachograph.replay_workers._fork_receive import ForkReceive
from tachograph.replay_workers._fork_session import ForkSession, Found
from tachograph.replay_workers._frames import raised_at
from tachograph.replay_workers._stream import Stream
from tachograph.replay_workers._tape import ReplayTape
from tachograph.schemas import CallOutcome, EndOutcome

_NULL = Payload(b"null")
_CANCELLED = Outcome(CallOutcome.CANCELLED)


class ForkTape(ReplayTape):
    """A `Tape` of a fork; nothing leaves."""

    __slots__ = ("_effects", "_fork")

    def __init__(
        self, session: ForkSession, stream: Stream, top: ForkTape | None = None, effects: ForkEffects | None = None
    ) -> None:
        super().__init__(session, stream, top)
        self._fork = session
        self.turns = session.turns
        self._effects = effects or ForkEffects(session)

    def begin(self, request: Request) -> ForkPassage:
        """A call goes out, and is answered.

        Raises:
            UnserialisableValue: the arguments cannot be recorded.
            EffectRefused: the ledger refuses the effect.
            AgentMisuse: the agent has ended.
            Halt: the fork ends here.
        """
        fork, stream = self._fork, self._stream
        arguments = _NULL if request.arguments is None else fork.redacted(encode_body(request.arguments, ordered=False))
        self._check()
        name = fork.clean(request.name)
        version = fork.clean(request.version) if request.version is not None else None
        step = stream.maker.call(request.kind, name, arguments.data, version)
        found = fork.find(stream, step)
        fields: dict[str, object] = {
            "kind": request.kind,
            "name": name,
            "version": version,
            "effect": request.effect,
            "idempotency_key": self._effects.key(request),
            "attempt": self._effects.attempt(request),
            "details": details_fields(fork, request.details),
        }
        call_id = fork.draft(stream, "CallStarted", fields, {"arguments": arguments}, origin=_seq(found))
        if request.effect == "write":
            try:
                self._effects.admit(request, step, found)
            except EffectRefused as refusal:
                self._refused(call_id, refusal, found)
                raise
        answer = fork.answer(request, step, found)
        if request.kind == "messages":
            return ForkReceive(fork, stream, request, answer, call_id)
        return ForkPassage(fork, stream, request, answer, call_id, self._effects)

    def send(self, to_agent_id: str, body: object) -> Envelope | None:
        """A message goes out; there is nobody to deliver it to."""
        check_id("agent id", to_agent_id)
        fork, stream = self._fork, self._stream
        message = fork.redacted(encode_body(body, ordered=False))
        self._check()
        found = fork.find(stream, stream.maker.send(to_agent_id, message.data))
        agent_id, incarnation = stream.key
        message_id = f"{agent_id}#{incarnation}/{fork.message_number(stream)}"
        fields: dict[str, object] = {"message_id": message_id, "to_agent_id": to_agent_id}
        seq = fork.draft(stream, "MessageSent", fields, {"body": message}, origin=_seq(found))
        number = fork.mail.number(agent_id, to_agent_id)
        fork.mail.post(
            Sent(
                agent_id, to_agent_id, number, message_id, message.data, message.redacted, stream.key, seq, _seq(found)
            )
        )
        fork.schedule.sent(message_id)
        return None

    def note(self, fact: Fact) -> None:
        """Control logic states a fact."""
        if fact.kind == "imported":
            return
        fork, stream = self._fork, self._stream
        value = fork.redacted(encode_body(fact.value, ordered=False))
        self._check()
        kind, body, fields, step = self._stated(fact, value.data)
        found = fork.find(stream, step)
        fork.draft(stream, kind, fields, {body: value}, origin=_seq(found))

    def open(self, name: str, role: str) -> ForkTape:
        """Open the stream of a child agent."""
        check_id("agent id", name)
        if self._stream.ended:
            raise AgentMisuse.ended(self.agent_id)
        fork = self._fork
        shown = fork.clean(role)
        fork.find(self._stream, self._stream.maker.opened(name, shown))
        stream = fork.child(name)
        fields: dict[str, object] = {
            "role": shown,
            "parent_agent_id": self.agent_id,
            "entrypoint": None,
            "redaction": fork.unit.redaction,
        }
        origin = 1 if stream.recorded is not None else None
        bodies: dict[str, Payload | None] = {"arguments": None, "inputs": None}
        fork.draft(stream, "AgentStarted", fields, bodies, origin=origin, cause=(self._stream.key, 0))
        tape = ForkTape(fork, stream, cast("ForkTape", self._top), self._effects)
        self._top._children[tape] = None
        return tape

    def context(self) -> RunContext:
        """What the agent handed on here in the recording; of an agent that is new in the fork, its latest step."""
        if self._stream.recorded is not None:
            return super().context()
        agent_id, incarnation = self._stream.key
        return RunContext(self.run_id, agent_id, incarnation, self._stream.maker.made + 1, 0, "")

    def told(self, logical_time_us: int) -> None:
        """The agent was told this time."""
        self._fork.told(self._stream, logical_time_us)

    def timer_fired(self, number: int, delay_us: int) -> None:
        """A timer of control logic fires."""
        if not self._stream.ended and not self._fork.schedule.halted:
            gap = self.turns.gap()
            self._fork.draft(self._stream, "TimerFired", self._fork.timer(self._stream, number, delay_us, gap))

    def _stated(self, fact: Fact, value: bytes) -> tuple[str, str, dict[str, object], Step]:
        """Event type, name of the body, other fields, and the step of a fact."""
        fork, maker = self._fork, self._stream.maker
        name = fork.clean(fact.name)
        if fact.kind == "state":
            return "StateChanged", "value", {"key": name}, maker.state(name, value)
        if fact.kind == "checkpoint":
            return "Checkpointed", "state", {"name": name}, maker.checkpoint(name, value)
        media_type = fork.clean(fact.media_type)
        fields: dict[str, object] = {"name": name, "media_type": media_type}
        return "ArtifactWritten", "body", fields, maker.artifact(name, media_type, value)

    def _end(self, outcome: Outcome) -> None:
        stream, fork = self._stream, self._fork
        if stream.ended:
            return
        error = failure_of(fork, outcome.error) if outcome.error is not None else None
        result = self._result(outcome)
        how = _end_outcome(outcome)
        step = stream.maker.ended(how, result, (error.type, error.message) if error is not None else None)
        if outcome.error is not None:
            step = replace(step, where=raised_at(outcome.error))
        found = fork.find(stream, step)
        stream.ended = True
        self._top._children.pop(self, None)
        kind = ending(fork.unit, stream.key)
        bodies = {"result": fork.redacted(result) if result is not None else None}
        fork.draft(stream, kind, ending_fields(kind, how), bodies, error=error, origin=_seq(found))

    def _refused(self, call_id: int, refusal: EffectRefused, found: Found) -> None:
        fields: dict[str, object] = {
            "call_id": call_id, "outcome": CallOutcome.ERROR.value, "yields": 0, "gap": 0, "chunks": 0,
            "unrecorded": None, "usage": None, "details": None,
        }  # fmt: skip
        origin = found.fixture.seq if found.fixture is not None else None
        bodies: dict[str, Payload | None] = {"receipt": None, "result": None}
        error = failure_of(self._fork, refusal)
        self._fork.draft(self._stream, "CallFinished", fields, bodies, error=error, origin=origin)


def _seq(found: Found) -> int | None:
    return found.step.seq if found.step is not None else None


def _end_outcome(outcome: Outcome) -> EndOutcome:
    if outcome.status is CallOutcome.OK:
        return EndOutcome.OK
    return EndOutcome.CANCELLED if outcome.status is CallOutcome.CANCELLED else EndOutcome.ERROR
