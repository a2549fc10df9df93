"""Holds what a replay does against its recording, step by step."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tachograph.core.replay._align import identity
from tachograph.core.replay._answers import Answers
from tachograph.core.replay._classify import LOOK_AHEAD_MAX, Place, classify, event_id_of
from tachograph.core.replay._recorded import Fixture, StreamSteps
from tachograph.core.replay._results import version_kind
from tachograph.core.replay._sentence import sentence
from tachograph.core.replay._values import Divergence, Step
from tachograph.schemas import quick


@quick
@dataclass(frozen=True, slots=True)
class Served:
    """The recording has an answer."""

    step: Step | None
    """The recorded step that answers; None where nothing comes back and none fits."""
    fixture: Fixture | None
    tentative: bool = False
    """The replay has diverged; the answer only lets it go on, so that one can see what changed."""


@dataclass(frozen=True, slots=True)
class Mismatch:
    """The replay has diverged, and this step ends it: there is no answer, or enough has been seen."""


@dataclass(frozen=True, slots=True)
class RecordingEnds:
    """The recording breaks off before this step. The replay did nothing wrong; nothing more can be shown."""


Match = Served | Mismatch | RecordingEnds

_MISMATCH = Mismatch()
_ENDS = RecordingEnds()
_SILENT = frozenset({"send", "state", "checkpoint", "artifact", "agent", "end"})
"""Steps that nothing comes back from."""

_SETTLED_MAX = 20
"""Divergences of one stream that matching goes on behind; only the first is what a verdict is about."""


class Frontier:
    """How far the replay of a unit has come in the recorded order; shared by its matchers."""

    __slots__ = ("hlc",)

    def __init__(self) -> None:
        self.hlc = 0


class Matcher:
    """Matches one stream: strictly in order, and after a mismatch looking ahead.

    `take` every step as it begins. While it gives `Served`, go on; on `Mismatch` stop the replay of this stream and ask
    for `divergences()`. Call `stall()` when the replay can take no further step although the recording has more.

    Where the look-ahead shows that only a payload changed and everything behind it is as recorded, matching goes on
    strictly, so that a replay of changed code is held against its whole recording.
    """

    def __init__(
        self, stream: StreamSteps, frontier: Frontier | None = None, look_ahead_max: int = LOOK_AHEAD_MAX
    ) -> None:
        self._stream = stream
        self._steps = stream.steps
        self._count = len(stream.steps)
        self._fixtures = stream.fixtures
        self._frontier = frontier if frontier is not None else Frontier()
        self._look_ahead_max = look_ahead_max
        self._settled: list[Divergence] = []
        self._version_changed = False
        self._tail: list[Step] = []
        self._given: list[int | None] = []
        """Index of the recorded step that each step of the tail was answered from."""
        self._reached_hlc = 0
        self._stalled = False
        self._answers: Answers | None = None
        self.position = 0
        """How many recorded steps the replay has taken, strictly in order."""

    @property
    def diverged(self) -> bool:
        """Whether the replay is off the recording; it may have come back to it since its first divergence."""
        return bool(self._tail) or self._stalled

    @property
    def is_aligned(self) -> bool:
        """Whether every step so far stands in its recorded place, whatever it carries."""
        rest = self._steps[self.position : self.position + len(self._tail)]
        same = [(step.kind, step.name) for step in rest] == [(step.kind, step.name) for step in self._tail]
        return same and not self._stalled

    @property
    def exhausted(self) -> bool:
        """Whether every recorded step was taken."""
        return self.position == self._count

    @property
    def expected(self) -> Step | None:
        """The recorded step that should come next."""
        position = self.position
        return self._steps[position] if position < self._count else None

    def take(self, step: Step) -> Match:
        """Match the replay's next step."""
        if self._tail:
            return self._look_ahead(step)
        position = self.position
        if position == self._count:
            return self._beyond(step)
        recorded = self._steps[position]
        if recorded.key != step.key or recorded.name != step.name or recorded.kind != step.kind:
            return self._mismatch(step)
        if recorded.version != step.version and not self._version_changed:
            self._note_version(recorded, step)
        self.position = position + 1
        self._frontier.hlc = max(self._frontier.hlc, recorded.hlc)
        return Served(recorded, self._fixtures[position])

    def follow(self, step: Step) -> Fixture | None:
        """Take the recorded step that should come next; the replay's is known to equal it, and has not diverged.

        Args:
            step: what is `expected`.

        Returns:
            What came back from it.
        """
        position = self.position
        self.position = position + 1
        hlc, frontier = step.hlc, self._frontier
        if hlc > frontier.hlc:  # noqa: PLR1730  # `max` is a call, and this is done for every step
            frontier.hlc = hlc
        return self._fixtures[position]

    def stall(self) -> None:
        """The replay can take no further step."""
        self._stalled = not self.exhausted

    def divergence(self) -> Divergence | None:
        """The stream's first divergence so far; None while there is none."""
        return next(iter(self.divergences()), None)

    def divergences(self) -> tuple[Divergence, ...]:
        """The stream's divergences so far, the first one first."""
        if not self._tail and not self._stalled:
            return tuple(self._settled)
        complete = self._stalled or self._tail[-1].kind == "end"
        return (*self._settled, classify(self._place(), self._tail, complete=complete))

    def _place(self) -> Place:
        stream = self._stream
        return Place(stream.run_id, stream.agent_id, stream.incarnation, self._steps, self.position, self._reached_hlc)

    def _beyond(self, step: Step) -> Match:
        return self._mismatch(step) if self._stream.ended else _ENDS

    def _mismatch(self, step: Step) -> Match:
        self._reached_hlc = self._frontier.hlc
        expected = self.expected
        if expected is not None:
            self._frontier.hlc = max(self._frontier.hlc, expected.hlc)
        self._answers = Answers(self._steps, self.position)
        return self._look_ahead(step)

    def _look_ahead(self, step: Step) -> Match:
        if len(self._tail) > self._look_ahead_max or self._answers is None:
            return _MISMATCH
        self._tail.append(step)
        index = self._answers.find(step)
        self._given.append(index)
        if len(self._tail) > self._look_ahead_max and not self._is_back():
            return _MISMATCH
        if len(self._tail) > self._look_ahead_max:
            self._settle()
        if index is not None:
            return Served(self._steps[index], self._fixtures[index], tentative=True)
        return Served(None, None, tentative=True) if step.kind in _SILENT else _MISMATCH

    def _is_back(self) -> bool:
        """Whether it is sure that only the first step of the tail has changed, and all were answered in their places."""
        places = range(self.position, self.position + len(self._tail))
        if self._given != list(places) or len(self._settled) >= _SETTLED_MAX:
            return False
        old = [identity(self._steps[index]) for index in places]
        new = [identity(step) for step in self._tail]
        return old[1:] == new[1:] and old[:-1] != new[1:]  # the same step over and over would fit an extra one as well

    def _settle(self) -> None:
        """Keep the divergence, and go on strictly behind what was looked at."""
        self._settled.append(classify(self._place(), self._tail, complete=False))
        self.position += len(self._tail)
        self._frontier.hlc = max(self._frontier.hlc, self._steps[self.position - 1].hlc)
        self._tail, self._given, self._answers = [], [], None

    def _note_version(self, recorded: Step, step: Step) -> None:
        self._version_changed = True
        found = Divergence(
            kind=version_kind(step.kind),
            agent_id=self._stream.agent_id,
            incarnation=self._stream.incarnation,
            step=recorded.number,
            event_id=event_id_of(self._stream.run_id, recorded),
            hlc=recorded.hlc,
            recorded=recorded,
            replayed=step,
        )
        self._settled.append(replace(found, sentence=sentence(found)))
