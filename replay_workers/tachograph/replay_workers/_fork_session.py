"""One fork of one unit: what answers it, where it left its parent, and what it does."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace

from tachograph.core.boundary import Request
from tachograph.core.replay import Fixture, Served, Step
from tachograph.replay_workers._alternatives import Otherwise
from tachograph.replay_workers._fork_answers import MADE, NOTHING, Answer, made, overridden, stub
from tachograph.replay_workers._fork_change import CallKey, Change
from tachograph.replay_workers._fork_draft import Draft, DraftLog, Failure, Payload
from tachograph.replay_workers._fork_loop import ForkSchedule
from tachograph.replay_workers._fork_mail import Mail
from tachograph.replay_workers._fork_parts import Parts
from tachograph.replay_workers._frames import place_of
from tachograph.replay_workers._halt import Halt
from tachograph.replay_workers._outside import Outside
from tachograph.replay_workers._places import StreamKey
from tachograph.replay_workers._session import Session
from tachograph.replay_workers._stream import Stream
from tachograph.replay_workers._unit import Unit
from tachograph.replay_workers._wire import Frame


@dataclass(frozen=True, slots=True)
class Found:
    """What the recording has for a step of a fork."""

    step: Step | None = None
    fixture: Fixture | None = None
    strict: bool = False
    """It stands in the same place: the stream has done nothing else than its parent so far."""


class ForkSession(Session):
    """What the tapes of a unit share while it is forked."""

    def __init__(
        self, unit: Unit, outside: Outside, otherwise: Otherwise, change: Change, send: Callable[[Frame], object]
    ) -> None:
        super().__init__(unit, outside, otherwise)
        schedule = ForkSchedule(self.order, otherwise)
        schedule.stalled, schedule.fired, schedule.endless = self._stall, self._timer_fired, self._endless
        self.schedule = schedule
        self.turns = schedule.counter
        self.mail = Mail(change)
        schedule.relieved = self.mail.relieve
        self.change = change
        self.apart = False
        """Whether the fork does, or was told, anything else than its parent."""
        self.stopped: str | None = None
        """Why the fork had to stop, where it had to."""
        self.waiting: dict[tuple[StreamKey, int], str] = {}
        """Calls that are out, by stream and step number."""
        self.log = DraftLog(unit.key, send)
        self._parts: dict[StreamKey, Parts] = {}
        self._told: dict[StreamKey, int] = {}
        self._messages: Counter[StreamKey] = Counter()
        self._timers = {(timer.stream, timer.number): timer for timer in unit.timers}
        self._unused: dict[CallKey, bytes] = dict(change.overrides)

    @property
    def reached_hlc(self) -> int:
        """How far the fork has come in the recorded order."""
        return self._frontier.hlc

    def find(self, stream: Stream, step: Step) -> Found:
        """The recorded step that a step of a stream is, or is answered by.

        Raises:
            Halt: the fork ends here.
        """
        with self._lock:
            if self.schedule.halted:
                raise self.halt()
            found = self._found(stream, step)
            self.apart = self.apart or not found.strict
            if found.step is not None:
                self._passed(stream, found.step, tentative=not found.strict)
            if step.number > self.unit.steps_max:
                raise self.stop(f"{stream.key[0]!r} took {self.unit.steps_max} steps, the most that was allowed")
            return found

    def answer(self, request: Request, step: Step, found: Found) -> Answer:
        """What answers a call.

        Raises:
            Halt: nothing does, and the fork is to fail then.
        """
        with self._lock:
            answer = self._answer(request, step, found)
            self.apart = self.apart or answer.origin != "recorded"
            return answer

    def timer(self, stream: Stream, number: int, delay_us: int, gap: int) -> dict[str, object]:
        """The fields of a timer that fires: as recorded while the fork does what its parent did."""
        recorded = self._timers.get((stream.key, number)) if not self.apart else None
        if recorded is not None:
            delay_us, gap = recorded.delay_us, recorded.gap
        return {"number": number, "delay_us": delay_us, "gap": gap}

    def missed(self, request: Request, step: Step, recorded: Step | None) -> Answer:
        """What a call gets that nothing answers.

        Raises:
            Halt: the fork is to fail then.
        """
        if request.kind in MADE:
            self.taint(f"{_named(step)} is not in the recording: the fork's own clock and chance answered it")
            return Answer("made", step, made(request.kind, step, self.unit.run_id, self._now_us()))
        if self.change.changed and self.change.miss == "stub":
            self.taint(f"{_named(step)} was answered with a stub")
            return Answer("stub", step, stub(request.kind))
        raise self.stop(_missed(self.unit.run_id, step, recorded))

    def draft(
        self,
        stream: Stream,
        kind: str,
        fields: dict[str, object],
        bodies: dict[str, Payload | None] | None = None,
        *,
        error: Failure | None = None,
        source: int | None = None,
        origin: int | None = None,
        cause: tuple[StreamKey, int] | None = None,
    ) -> int:
        """Put an event of the fork down; returns its `seq`."""
        told = self._told.get(stream.key)
        at = self.schedule.now
        return self.log.append(Draft(stream.key, kind, at, told, fields, bodies or {}, error, source, origin, cause))

    def told(self, stream: Stream, logical_time_us: int) -> None:
        """An agent was told this time."""
        self._told[stream.key] = logical_time_us

    def message_number(self, stream: Stream) -> int:
        """The number of a message that an agent sends, counted from 1."""
        with self._lock:
            self._messages[stream.key] += 1
            return self._messages[stream.key]

    def redacted(self, data: bytes) -> Payload:
        """A body as it may be written."""
        return Payload(*self.policy.redact(data, self.outside.tokens))

    def give_up(self, text: str) -> Halt:
        """End the fork: control logic goes on and on without a step."""
        self.spun = True
        return self.stop(text)

    def stop(self, text: str) -> Halt:
        """End the fork for lack of something."""
        if self.stopped is None:
            self.stopped = text
            self.miss(f"The fork of {self.unit.key[0]!r} had to stop: {text}.")
        return self.halt()

    def close(self) -> None:
        """The unit has ended: say which overrides nothing asked for."""
        for agent_id, incarnation, seq in self._unused:
            event_id = f"{self.unit.run_id}/{agent_id}#{incarnation}.{seq}"
            self.miss(f"The override of {event_id} was not used: the fork did not come to such a call.")

    def _found(self, stream: Stream, step: Step) -> Found:
        matcher, parts = stream.matcher, self._parts_of(stream)
        if matcher is None:
            return Found()
        expected = matcher.expected
        if matcher.diverged or expected is None or expected.key != step.key or expected.name != step.name:
            step = replace(step, where=step.where or place_of(inspect.currentframe()))
        match = matcher.take(step)
        if isinstance(match, Served) and not match.tentative and match.step is not None:
            parts.use(match.step)
            return Found(match.step, match.fixture, strict=True)
        reached = expected.hlc if expected is not None else self.reached_hlc
        if self.change.changed and reached < self.change.from_hlc:
            raise self.stop(f"{_named(step)} is not as recorded, and the fork point was not reached yet")
        return Found(*(parts.equal(step) or (None, None)))

    def _answer(self, request: Request, step: Step, found: Found) -> Answer:
        given = self._override(step, found)
        if given is not None:
            return given
        recorded, fixture = found.step, found.fixture
        if request.kind == "messages" and self.mail.is_awaited(recorded) and not _is_there(fixture):
            return Answer("mail", step, NOTHING)
        if recorded is not None and fixture is not None and self._may_serve(recorded, fixture):
            arrived = self.change.arrivals.get((recorded.agent_id, recorded.incarnation, recorded.seq))
            return Answer("recorded", recorded, fixture, found.strict, arrived)
        return self.missed(request, step, recorded)

    def _override(self, step: Step, found: Found) -> Answer | None:
        recorded, fixture = found.step, found.fixture
        if recorded is None and self._unused:
            recorded, fixture = self._parts[step.agent_id, step.incarnation].overridden(step, self._unused) or (
                None,
                None,
            )
        if recorded is None or fixture is None:
            return None
        body = self._unused.pop((recorded.agent_id, recorded.incarnation, recorded.seq), None)
        if body is None:
            return None
        other = (
            "" if recorded.key == step.key else f", which was asked with other arguments in the fork ({_named(step)})"
        )
        self.taint(f"another answer was given to {_event(self.unit.run_id, recorded)}{other}")
        return Answer("override", recorded, overridden(fixture, body), found.strict)

    def _may_serve(self, recorded: Step, fixture: Fixture) -> bool:
        if fixture.outcome is None:
            return False
        return recorded.kind != "approval" or self.change.is_before(recorded.hlc)

    def _now_us(self) -> int:
        return self.unit.started_at_us + int(self.schedule.now * 1e6)

    def _parts_of(self, stream: Stream) -> Parts:
        known = self._parts.get(stream.key)
        if known is None:
            known = self._parts[stream.key] = Parts(stream.recorded)
        return known

    def _stall(self) -> None:
        waiting = "; ".join(dict.fromkeys(self.waiting.values()))
        super()._stall()
        self.stop(f"Deadlock: nothing can happen any more; waiting: {waiting or 'nothing at the boundary'}")


def _is_there(fixture: Fixture | None) -> bool:
    return fixture is not None and fixture.outcome is not None


def _missed(run_id: str, step: Step, recorded: Step | None) -> str:
    if recorded is None:
        remedy = "drive on with `--miss stub`, or give another answer to a recorded call of this name"
        return f"FixtureMiss: the recording has no answer to {_named(step)}; {remedy}"
    event_id = _event(run_id, recorded)
    if recorded.kind == "approval" and recorded.outcome is not None:
        return (
            f"FixtureMiss: {_named(step)} is asked again, because an approval does not count behind the fork point; "
            f"give one with `--approval {event_id}=JSON`"
        )
    return f"FixtureMiss: {_named(step)} never came back in the recording; answer {event_id}"


def _named(step: Step) -> str:
    return f"{step.kind} {step.name} (step {step.number} of {step.agent_id!r})"


def _event(run_id: str, step: Step) -> str:
    return f"{run_id}/{step.agent_id}#{step.incarnation}.{step.seq}"
