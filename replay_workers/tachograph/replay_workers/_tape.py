"""The replaying tape: what control logic drives in place of a recorder, and is answered by the recording."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tachograph.core.boundary import Envelope, Fact, Outcome, Request, RunContext, Sources, TurnCounter
from tachograph.core.canonical import encode_body
from tachograph.core.causality import check_id
from tachograph.core.errors import AgentMisuse, InternalError
from tachograph.replay_workers._failure import described_error
from tachograph.replay_workers._frames import raised_at
from tachograph.replay_workers._mail import message_id
from tachograph.replay_workers._passage import ReplayPassage
from tachograph.replay_workers._places import StreamKey
from tachograph.replay_workers._session import Session
from tachograph.replay_workers._stream import Stream
from tachograph.schemas import CallOutcome, EndOutcome

if TYPE_CHECKING:
    from tachograph.replay_workers._schedule import Schedule

_NULL = b"null"
_CANCELLED = Outcome(CallOutcome.CANCELLED)


class _NoSources:
    """A replay has no clock, no chance and no ids of its own."""

    def now_us(self) -> int:
        raise InternalError("a replay asked the clock")

    def seed(self) -> int:
        raise InternalError("a replay asked for a seed")

    def new_id(self) -> str:
        raise InternalError("a replay asked for an id")


_NO_SOURCES = _NoSources()


class ReplayTurns(TurnCounter):
    """Counts nothing: what happens in which turn is in the recording."""

    __slots__ = ("_schedule",)

    def __init__(self, schedule: Schedule) -> None:
        super().__init__()
        self._schedule = schedule

    def opened(self) -> None:
        """An agent is opened."""
        self._schedule.opened()


class ReplayTape:
    """A `Tape` that is answered by the recording; nothing leaves."""

    __slots__ = ("_children", "_messages", "_session", "_stream", "_timers", "_top", "turns")

    def __init__(self, session: Session, stream: Stream, top: ReplayTape | None = None) -> None:
        self._session = session
        self._stream = stream
        self._top = top or self
        self._children: dict[ReplayTape, None] = {}
        """Tapes that are open below the unit's own."""
        self.turns: TurnCounter = ReplayTurns(session.schedule)
        self._timers = 0
        self._messages = 0

    @property
    def sources(self) -> Sources:
        """Never asked."""
        return _NO_SOURCES

    @property
    def run_id(self) -> str:
        """The recorded run's id."""
        return self._session.unit.run_id

    @property
    def agent_id(self) -> str:
        """The agent's id."""
        return self._stream.key[0]

    def begin(self, request: Request) -> ReplayPassage:
        """A call goes out, and is held against the recording.

        Raises:
            UnserialisableValue: the arguments cannot be recorded.
            AgentMisuse: the agent has ended.
            Halt: the replay ends here.
        """
        session, stream = self._session, self._stream
        expected = stream.matcher.expected if stream.matcher is not None else None
        arguments = _NULL
        if request.arguments is not None:
            arguments = encode_body(request.arguments, ordered=False)
            # What the recording has is redacted, and redacting twice changes nothing.
            if expected is None or arguments != expected.arguments:
                arguments = session.payload(arguments)
        if stream.ended:
            raise AgentMisuse.ended(self.agent_id)
        name = session.clean(request.name)
        version = request.version
        if version is not None:
            version = session.clean(version)
        if (
            expected is not None
            and expected.arguments == arguments
            and expected.name == name
            and expected.kind == request.kind
            and expected.version == version
        ):  # just the recorded call
            fixture = session.follow(stream, expected)
            if fixture is not None:
                return ReplayPassage(session, stream, request, expected, fixture)
        served = session.take(stream, stream.maker.call(request.kind, name, arguments, version, like=expected))
        if served.step is None or served.fixture is None:
            raise InternalError("a call was matched with something that has no answer")
        return ReplayPassage(session, stream, request, served.step, served.fixture, served.tentative)

    def send(self, to_agent_id: str, body: object) -> Envelope | None:
        """A message goes out; there is nobody to deliver it to."""
        check_id("agent id", to_agent_id)
        message = self._session.payload(encode_body(body, ordered=False))
        self._check()
        self._session.take(self._stream, self._stream.maker.send(to_agent_id, message))
        self._messages += 1
        self._session.schedule.sent(message_id(self._stream.key, self._messages))
        return None

    def deliver(self, envelope: Envelope) -> None:
        """Never asked."""
        raise InternalError("a replay was to deliver a message")

    async def deliver_async(self, envelope: Envelope) -> None:
        """Never asked."""
        raise InternalError("a replay was to deliver a message")

    def collect(self) -> Envelope:
        """Never asked."""
        raise InternalError("a replay was to collect a message")

    async def collect_async(self) -> Envelope:
        """Never asked."""
        raise InternalError("a replay was to collect a message")

    def note(self, fact: Fact) -> None:
        """Control logic states a fact."""
        if fact.kind == "imported":
            return
        session, maker = self._session, self._stream.maker
        value = session.payload(encode_body(fact.value, ordered=False))
        self._check()
        name = session.clean(fact.name)
        if fact.kind == "state":
            step = maker.state(name, value)
        elif fact.kind == "checkpoint":
            step = maker.checkpoint(name, value)
        else:
            step = maker.artifact(name, session.clean(fact.media_type), value)
        session.take(self._stream, step)

    def open(self, name: str, role: str) -> ReplayTape:
        """Open the stream of a child agent."""
        check_id("agent id", name)
        if self._stream.ended:
            raise AgentMisuse.ended(self.agent_id)
        session = self._session
        session.take(self._stream, self._stream.maker.opened(name, session.clean(role)))
        tape = ReplayTape(session, session.child(name), self._top)
        self._top._children[tape] = None
        return tape

    def close(self, outcome: Outcome) -> None:
        """End the stream; the unit's own ends every open stream first."""
        if self._stream.ended:
            return
        if self._top is self:
            for child in reversed(tuple(self._children)):
                child._end(_CANCELLED)
        self._end(outcome)

    def context(self) -> RunContext:
        """What the agent handed on here in the recording."""
        return self._session.outside.head(self._stream.key, self._stream.latest_seq)

    @property
    def key(self) -> StreamKey:
        """The stream that is replayed."""
        return self._stream.key

    def set_timer(self) -> int:
        """Control logic sets a timer: its number within the stream."""
        self._timers += 1
        return self._timers

    def timer_fired(self, number: int, delay_us: int) -> None:
        """Never asked."""
        raise InternalError("a replay was to record a timer")

    def told(self, logical_time_us: int) -> None:
        """The agent was told this time."""

    def _end(self, outcome: Outcome) -> None:
        if self._stream.ended:
            return
        self._stream.ended = True
        self._top._children.pop(self, None)
        session = self._session
        error = None
        if outcome.error is not None:
            name, message = described_error(outcome.error)
            error = (self._as_recorded(name), session.clean(message))
        step = self._stream.maker.ended(_end_outcome(outcome), self._result(outcome), error)
        if outcome.error is not None:
            step = replace(step, where=raised_at(outcome.error))
        session.take(self._stream, step)

    def _as_recorded(self, name: str) -> str:
        """A class's name; that of one of a script's, where the recording names its module `__main__`."""
        expected = self._stream.matcher.expected if self._stream.matcher is not None else None
        script = "__main__." + name.removeprefix(self._session.main + ".")
        return script if expected is not None and expected.error_type == script else name

    def _result(self, outcome: Outcome) -> bytes | None:
        if outcome.status is not CallOutcome.OK or self._stream.states_no_result:
            return None
        try:
            data = encode_body(outcome.value, ordered=False)
        except Exception:  # noqa: BLE001 the recording has no result either, whatever a stranger's codec raises
            return None
        return self._session.payload(data)

    def _check(self) -> None:
        if self._stream.ended:
            raise AgentMisuse.ended(self.agent_id)


def _end_outcome(outcome: Outcome) -> EndOutcome:
    if outcome.status is CallOutcome.OK:
        return EndOutcome.OK
    return EndOutcome.CANCELLED if outcome.status is CallOutcome.CANCELLED else EndOutcome.ERROR
