"""One replay of one unit: its matchers, its schedule, and what it has seen so far."""

from __future__ import annotations

import sys
import threading
from collections import Counter, defaultdict
from dataclasses import replace

from tachograph.core.boundary import Outcome, Request
from tachograph.core.canonical import decode_body
from tachograph.core.errors import UnreadableBody
from tachograph.core.redaction import RedactionPolicy, policy_of
from tachograph.core.replay import Divergence, Fixture, Frontier, Matcher, RecordingEnds, Served, Step, UnitResult
from tachograph.replay_workers._alternatives import Otherwise
from tachograph.replay_workers._frames import place_of
from tachograph.replay_workers._halt import Halt
from tachograph.replay_workers._notes import Notes
from tachograph.replay_workers._order import order_of
from tachograph.replay_workers._outside import Outside
from tachograph.replay_workers._outside_cancel import ends_cancelled, is_interrupted
from tachograph.replay_workers._places import StreamKey
from tachograph.replay_workers._rehydrate import rehydrated
from tachograph.replay_workers._schedule import SILENT_TURNS_MAX, Schedule
from tachograph.replay_workers._stream import Stream
from tachograph.replay_workers._turns import Turns
from tachograph.replay_workers._unit import Unit
from tachograph.schemas import CallOutcome


class Session(Notes):
    """What the tapes of a unit share while it is replayed."""

    def __init__(self, unit: Unit, outside: Outside, otherwise: Otherwise | None = None) -> None:
        super().__init__(unit)
        self.outside = outside
        self.policy: RedactionPolicy = policy_of(unit.redaction)
        self.order = unit.order or order_of(unit.streams, unit.times, unit.timers)
        self.schedule = Schedule(self.order, otherwise)
        self.schedule.stalled = self._stall
        self.schedule.endless = self._endless
        self.schedule.fired = self._timer_fired
        self.schedule.outside.ends = lambda: ends_cancelled(unit)
        self.schedule.outside.is_on_course = self._is_on_course
        self.streams: dict[StreamKey, Stream] = {}
        self._frontier = Frontier()
        self._recorded = {(stream.agent_id, stream.incarnation): stream for stream in unit.streams}
        self._lives: defaultdict[str, list[int]] = defaultdict(list)
        for agent_id, incarnation in sorted(self._recorded):
            self._lives[agent_id].append(incarnation)
        self._opened: Counter[str] = Counter()
        self._served: list[str] = []
        """Kinds of the calls that came back: to append to it takes no lock."""
        self.main = unit.entrypoint.partition(":")[0]
        """The module that the entry point is in."""
        self._texts: dict[str, str] = {}
        self._turns = Turns()
        self._lock = self._turns.lock
        self._threads_before = threading.active_count()
        self.spun = False
        """Whether control logic was stopped because it went on and on without a step."""

    def own(self) -> Stream:
        """The unit's own stream."""
        self._opened[self.unit.key[0]] += 1
        return self._stream(self.unit.key)

    def child(self, agent_id: str) -> Stream:
        """The stream of a child agent that is opened now: lives of an agent are replayed in their order."""
        lives = self._lives[agent_id]
        with self._lock:
            count = self._opened[agent_id]
            self._opened[agent_id] += 1
        following = (lives[-1] if lives else 0) + 1 + count - len(lives)
        return self._stream((agent_id, lives[count] if count < len(lives) else following))

    def follow(self, stream: Stream, expected: Step) -> Fixture | None:
        """Pass the recorded call that should come next, which control logic makes just so: what most steps are.

        Returns:
            What came back from it; None where there is more to it, and `take` has to look.
        """
        matcher, maker = stream.matcher, stream.maker
        alone = threading.active_count() - self.schedule.lent <= self._threads_before
        if (
            not alone
            or matcher is None
            or matcher.diverged
            or self.schedule.halted
            or maker.made >= self.unit.steps_max
        ):
            return None
        maker.made += 1
        if self._reads_since_step:
            self.stepped()
        fixture = matcher.follow(expected)
        self.schedule.began(stream.key, expected.number)
        if expected.seq > stream.latest_seq:  # noqa: PLR1730  # `max` is a call, and this is done for every call
            stream.latest_seq = expected.seq
        return fixture

    def take(self, stream: Stream, step: Step) -> Served:
        """Match the next step of a stream.

        Raises:
            Halt: the replay ends here.
        """
        with self._lock:
            matcher = stream.matcher
            if threading.active_count() - self.schedule.lent > self._threads_before and matcher is not None:
                self._wait_for_turn(stream, matcher, step)
            if self.schedule.halted or matcher is None:
                raise self._unheld(stream)
            expected = matcher.expected
            if is_interrupted(expected, step) and not matcher.diverged:
                stream.maker.made -= 1
                raise KeyboardInterrupt  # as whoever sat before it did, between two steps
            if expected is None or not _is_same(expected, step):
                if not matcher.diverged:
                    self.went_astray(stream.key)
                    self.schedule.astray(expected.hlc if expected is not None else 0)
                step = replace(step, where=step.where or place_of(sys._getframe(1)))  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] the frame is what is asked for
            self.stepped()
            match = matcher.take(step)
            if not isinstance(match, Served):
                if isinstance(match, RecordingEnds):
                    self.miss(f"the recording of {stream.key[0]!r} breaks off behind step {step.number - 1}")
                    raise self._unheld(stream)
                raise self.halt()
            if match.step is not None:
                self._passed(stream, match.step, tentative=match.tentative)
                self._turns.taken()
            if step.number > self.unit.steps_max:
                self.miss(f"{stream.key[0]!r} was stopped after {self.unit.steps_max} steps, the most that was allowed")
                raise self.halt()
            return match

    def _wait_for_turn(self, stream: Stream, matcher: Matcher, step: Step) -> None:
        """Control logic has threads: each waits here until what the recording has before its step has been done."""

        def is_turn() -> bool:
            expected = matcher.expected
            if expected is None or not _is_same(expected, step):
                return matcher.diverged or self.schedule.halted
            return self.schedule.is_turn(stream.key, expected.number) or matcher.diverged or self.schedule.halted

        expected = matcher.expected
        place = self.order.begins[stream.key][expected.number - 1] if expected is not None else len(self.order.places)
        self._turns.wait(place, is_turn)

    def outcome(self, request: Request, stream: Stream, step: Step, fixture: Fixture) -> Outcome:
        """A recorded outcome, as control logic got it."""
        self._served.append(request.kind)
        if fixture.seq > stream.latest_seq:  # noqa: PLR1730  # `max` is a call, and this is done for every call
            stream.latest_seq = fixture.seq
        if fixture.redacted:
            self.taint(f"control logic was given a token in place of a value in the result of {_name(step)}")
        if fixture.error is not None:
            known = (*request.raises, *request.failed, *request.unknown)
            try:
                error = rehydrated(fixture.error, known, lambda text: self.substitute(step, fixture, text), self.main)
            except UnreadableBody as failure:
                raise self.unreadable(step, failure) from None
            return Outcome(fixture.outcome or CallOutcome.ERROR, error=error)
        if fixture.unrecorded is not None and fixture.result is None and not fixture.pieces:
            self.miss(f"the result of {_name(step)} could not be recorded: {fixture.unrecorded}")
            raise self.halt()
        try:
            value = decode_body(fixture.result) if fixture.result is not None else None
        except UnreadableBody as failure:
            raise self.unreadable(step, failure) from None
        return Outcome(fixture.outcome or CallOutcome.OK, value=value)

    def unreadable(self, step: Step, failure: UnreadableBody) -> Halt:
        """What came back cannot be decoded, as where its codec is not registered here: nothing else is given instead."""
        self.miss(f"What came back from {_name(step)} cannot be read: {failure}")
        return self.halt()

    def ended_otherwise(
        self, step: Step, outcome: CallOutcome, read: int = 0, recorded: int = 0, reached: int = 0
    ) -> None:
        """As in `Notes`, unless the replay has come to its end."""
        if not self.schedule.halted:
            reached = max(reached, self._frontier.hlc)
            if not self._is_on_course():
                reached += 1  # what went astray before it is its cause, or may be
            super().ended_otherwise(step, outcome, read, recorded, reached)

    def never_back(self, step: Step) -> Halt:
        """A recorded call never came back: the recording breaks off in it."""
        self.miss(f"the recording of {step.agent_id!r} breaks off in {_name(step)}, which never came back")
        return self.halt()

    def clean(self, text: str) -> str:
        """A text as the recording has it."""
        known = self._texts.get(text)
        if known is None:
            encodable = text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")
            known = self._texts[text] = self.policy.redact_text(encodable, self.outside.tokens)
        return known

    def payload(self, data: bytes) -> bytes:
        """A body as the recording has it."""
        return self.policy.redact(data, self.outside.tokens)[0]

    def steps_of(self, agent_id: str) -> int:
        """How many steps an agent has taken in its latest life."""
        return next((stream.maker.made for key, stream in reversed(self.streams.items()) if key[0] == agent_id), 0)

    def halt(self) -> Halt:
        """End the replay; every further passage through the boundary raises this."""
        self.schedule.halted = True
        return Halt()

    def give_up(self, text: str) -> Halt:
        """End the replay: control logic goes on and on without a step."""
        self.spun = True
        self.miss(text)
        return self.halt()

    def _unheld(self, stream: Stream) -> Halt:
        """End the replay at a step that there is nothing to hold against: it does not count."""
        stream.maker.made -= 1
        return self.halt()

    def result(self, *, driven: bool = True) -> UnitResult:
        """What the replay showed."""
        every = [*self.outcomes, *self._divergences()]
        found = [one for one in every if self.excused(one) is None]
        for one in every:
            if (why := self.excused(one)) is not None:
                self.miss(f"{one.sentence} Nothing follows from it: before it, {why}.")
        return UnitResult(
            divergences=tuple(self.blamed(one) for one in found),
            steps_recorded=sum(len(stream.steps) for stream in self.unit.streams),
            steps_replayed=sum(stream.counted for stream in self.streams.values()),
            agents=len(self.unit.streams),
            driven=driven,
            aligned=len(found) == len(every) and all(one.is_aligned for one in self._matchers()),
            served=dict(Counter(self._served)),
            blocked=tuple(self.reads),
            taints=tuple(self.taints),
            missing=tuple(self.missing),
        )

    @property
    def matched(self) -> int:
        """Steps that were as recorded, each in its place."""
        return sum(stream.matcher.position for stream in self.streams.values() if stream.matcher is not None)

    def _divergences(self) -> list[Divergence]:
        return [found for matcher in self._matchers() for found in matcher.divergences()]

    def _matchers(self) -> list[Matcher]:
        return [stream.matcher for stream in self.streams.values() if stream.matcher is not None]

    def _stream(self, key: StreamKey) -> Stream:
        stream = self.streams[key] = Stream(key, self._recorded.get(key), self._frontier)
        return stream

    def _passed(self, stream: Stream, step: Step, *, tentative: bool) -> None:
        self.schedule.began(stream.key, step.number)
        if not tentative and step.seq > stream.latest_seq and step.kind != "agent":
            stream.latest_seq = step.seq

    def _timer_fired(self, key: StreamKey, seq: int) -> None:
        stream = self.streams.get(key)
        if stream is not None:
            stream.latest_seq = max(stream.latest_seq, seq)

    def _is_on_course(self) -> bool:
        """Whether every step so far was as recorded."""
        matchers = [stream.matcher for stream in self.streams.values()]
        return not any(matcher is None or matcher.diverged for matcher in matchers)

    def _endless(self) -> None:
        """Control logic never comes to its next step."""
        self.give_up(
            f"control logic was stopped after {SILENT_TURNS_MAX:,} turns of the event loop without a step, "
            f"the most that is allowed: it may never end"
        )

    def _stall(self) -> None:
        """Nothing can happen any more: every stream that has not ended is missing something."""
        for stream in self.streams.values():
            if stream.matcher is not None and not stream.ended:
                stream.matcher.stall()
        self.halt()


def _name(step: Step) -> str:
    return f"{step.name} (step {step.number} of {step.agent_id!r})"


def _is_same(expected: Step, step: Step) -> bool:
    return expected.key == step.key and expected.name == step.name and expected.kind == step.kind
