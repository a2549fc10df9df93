"""What a replay of a unit has noticed: reads past the boundary, stand-ins, what is missing, calls that ended otherwise."""

from __future__ import annotations

from dataclasses import replace

from tachograph.core.replay import (
    Divergence,
    DivergenceKind,
    FieldChange,
    Fixture,
    Step,
    UnrecordedInput,
    blame,
    sentence,
)
from tachograph.replay_workers._places import StreamKey
from tachograph.replay_workers._unit import Unit
from tachograph.schemas import CallOutcome


class Notes:
    """Collects it, and says what a divergence is put down to."""

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self.reads: list[UnrecordedInput] = []
        self.taints: dict[str, None] = {}
        """Sentences: what makes the replay less than exact."""
        self.missing: dict[str, None] = {}
        """Sentences: what evidence is not there."""
        self.outcomes: list[Divergence] = []
        """Calls that ended otherwise."""
        self._reads_since_step: list[UnrecordedInput] = []
        """Reads since any agent took a step: whoever takes the next one made them, whatever agent is the current one."""
        self._reads_before: dict[StreamKey, list[UnrecordedInput]] = {}
        """By stream that went astray: those just before."""
        self._substituted: list[tuple[str, int, str]] = []
        """(agent, clock, what control logic was given) of exceptions that others stand in for."""

    def read(self, found: UnrecordedInput) -> None:
        """Control logic read the outside past the boundary."""
        self.reads.append(found)
        self._reads_since_step.append(found)

    def stepped(self) -> None:
        """An agent takes a step."""
        if self._reads_since_step:
            self._reads_since_step = []

    def went_astray(self, stream: StreamKey) -> None:
        """A stream takes a step that is not the recorded one."""
        self._reads_before[stream] = self._reads_since_step

    def taint(self, text: str) -> None:
        """Note what makes the replay less than exact."""
        self.taints[text] = None

    def miss(self, text: str) -> None:
        """Note what evidence is not there."""
        self.missing[text] = None

    def ended_otherwise(
        self, step: Step, outcome: CallOutcome, read: int = 0, recorded: int = 0, reached: int = 0
    ) -> None:
        """Control logic ended a call that the recording let come back, or the reverse.

        Args:
            step: of the call, as recorded.
            outcome: how it ends in the replay.
            read: how many pieces of a stream were read when control logic stopped reading it.
            recorded: how many the recording has.
            reached: the clock that the replay had come to: a call may have begun long before what ends it.
        """
        found = Divergence(
            kind=DivergenceKind.OUTCOME_CHANGED,
            agent_id=step.agent_id,
            incarnation=step.incarnation,
            step=step.number,
            event_id=f"{self.unit.run_id}/{step.agent_id}#{step.incarnation}.{step.seq}",
            hlc=max(step.hlc, reached),
            recorded=step,
            replayed=replace(step, outcome=outcome, result=None, error_type=None, seq=0, hlc=0),
            changes=(FieldChange("pieces read", str(recorded), str(read)),) if read != recorded else (),
        )
        self.outcomes.append(replace(found, sentence=sentence(found)))

    def substitute(self, step: Step, fixture: Fixture, text: str) -> None:
        """Control logic is given another exception than in the recording."""
        self.taint(text)
        self._substituted.append((step.agent_id, fixture.hlc, text))

    def excused(self, found: Divergence) -> str | None:
        """What stood in for an exception before a divergence, which may be the cause of it."""
        agents = {found.agent_id, *self._related(found.agent_id)}
        known = (text for agent, hlc, text in self._substituted if agent in agents and hlc <= found.hlc)
        return next(known, None)

    def blamed(self, found: Divergence) -> Divergence:
        """The divergence, put down to a read past the boundary of its agent, of a relative, or made just before it."""
        blamed = blame(found, self.reads, self._related(found.agent_id))
        if blamed.unrecorded is not None:
            return blamed
        before = self._reads_before.get((found.agent_id, found.incarnation), [])
        return blame(found, before, {read.agent_id for read in before})

    def _related(self, agent_id: str) -> set[str]:
        """The agents that opened this one, over however many, and those that it opened."""
        opened_by = {stream.agent_id: stream.parent[0] for stream in self.unit.streams if stream.parent is not None}
        related = {child for child, parent in opened_by.items() if parent == agent_id}
        while (parent := opened_by.get(agent_id)) is not None and parent not in related:
            related.add(parent)
            agent_id = parent
        return related
