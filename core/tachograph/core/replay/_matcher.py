"""Holds what a replay does against its recording, step by step."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace

from tachograph.core.replay._classify import LOOK_AHEAD_MAX, Place, classify, event_id_of
from tachograph.core.replay._recorded import Fixture, StreamSteps
from tachograph.core.replay._results import version_kind
from tachograph.core.replay._sentence import sentence
from tachograph.core.replay._values import Divergence, Step


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


class Frontier:
    """How far the replay of a unit has come in the recorded order; shared by its matchers."""

    __slots__ = ("hlc",)

    def __init__(self) -> None:
        self.hlc = 0


class Matcher:
    """Matches one stream: strictly in order, and after the first mismatch looking ahead.

    `take` every step as it begins. While it gives `Served`, go on; on `Mismatch` stop the replay of this stream and ask
    for `divergence()`. Call `stall()` when the replay can take no further step although the recording has more.
    """

    def __init__(
        self, stream: StreamSteps, frontier: Frontier | None = None, look_ahead_max: int = LOOK_AHEAD_MAX
    ) -> None:
        self._stream = stream
        self._steps = stream.steps
        self._fixtures = stream.fixtures
        self._frontier = frontier if frontier is not None else Frontier()
        self._look_ahead_max = look_ahead_max
        self._version_changed: Divergence | None = None
        self._tail: list[Step] = []
        self._reached_hlc = 0
        self._stalled = False
        self._rest: _Rest | None = None
        self.position = 0
        """How many recorded steps the replay has taken, strictly in order."""

    @property
    def diverged(self) -> bool:
        """Whether the replay has left the recording (a changed version alone does not leave it)."""
        return bool(self._tail) or self._stalled

    @property
    def exhausted(self) -> bool:
        """Whether every recorded step was taken."""
        return self.position == len(self._steps)

    @property
    def expected(self) -> Step | None:
        """The recorded step that should come next."""
        return self._steps[self.position] if self.position < len(self._steps) else None

    def take(self, step: Step) -> Match:
        """Match the replay's next step."""
        if self._tail:
            return self._look_ahead(step)
        position = self.position
        if position == len(self._steps):
            return self._beyond(step)
        recorded = self._steps[position]
        if recorded.key != step.key or recorded.name != step.name or recorded.kind != step.kind:
            return self._mismatch(step)
        if recorded.version != step.version and self._version_changed is None:
            self._version_changed = self._other_version(recorded, step)
        self.position = position + 1
        self._frontier.hlc = max(self._frontier.hlc, recorded.hlc)
        return Served(recorded, self._fixtures[position])

    def stall(self) -> None:
        """The replay can take no further step."""
        self._stalled = not self.exhausted

    def divergence(self) -> Divergence | None:
        """The stream's first divergence so far; None while there is none."""
        if self._version_changed is not None:
            return self._version_changed
        if not self._tail and not self._stalled:
            return None
        complete = self._stalled or self._tail[-1].kind == "end"
        return classify(self._place(), self._tail, complete=complete)

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
        self._rest = _Rest(self._steps, self.position)
        return self._look_ahead(step)

    def _look_ahead(self, step: Step) -> Match:
        if len(self._tail) > self._look_ahead_max:
            return _MISMATCH
        self._tail.append(step)
        if len(self._tail) > self._look_ahead_max or self._rest is None:
            return _MISMATCH
        index = self._rest.answer(step, self.position + len(self._tail) - 1)
        if index is not None:
            return Served(self._steps[index], self._fixtures[index], tentative=True)
        return Served(None, None, tentative=True) if step.kind in _SILENT else _MISMATCH

    def _other_version(self, recorded: Step, step: Step) -> Divergence:
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
        return replace(found, sentence=sentence(found))


class _Rest:
    """The recorded steps behind a mismatch, to answer from."""

    __slots__ = ("_exact", "_similar", "_used")

    def __init__(self, steps: tuple[Step, ...], position: int) -> None:
        self._used: set[int] = set()
        self._exact: defaultdict[tuple[str, str, bytes], list[int]] = defaultdict(list)
        self._similar: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
        for index in range(position, len(steps)):
            step = steps[index]
            self._exact[step.kind, step.name, step.key].append(index)
            self._similar[step.kind, step.name].append(index)

    def answer(self, step: Step, near: int) -> int | None:
        """Index of the recorded step that answers best: the same one, else a like one that is near; unused first."""
        same = self._exact.get((step.kind, step.name, step.key), [])
        like = self._similar.get((step.kind, step.name), [])
        index = self._first_unused(same)
        if index is None and same:
            index = same[-1]
        if index is None:
            unused = [other for other in like if other not in self._used]
            index = min(unused or like, key=lambda other: abs(other - near), default=None)
        if index is not None:
            self._used.add(index)
        return index

    def _first_unused(self, indices: list[int]) -> int | None:
        return next((index for index in indices if index not in self._used), None)
