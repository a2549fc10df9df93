"""What one processor tells the others: the kinds of findings."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from tachograph.core.findings._rows import EffectRow, RunRow
from tachograph.core.state import SignatureHit
from tachograph.schemas import quick

_DIGITS = 20
"""As many as any number of 64 bits has: texts of equal length compare as the numbers do, in Lua scripts, too."""

_SORTING = tuple(".".join([f"%0{_DIGITS}d"] * count) for count in range(4))
"""By how many numbers stand beside each other."""


@quick
@dataclass(frozen=True, slots=True)
class Position:
    """How far a run was folded when something was found in it."""

    events: int
    hlc: int
    """Of the latest event."""
    over: bool
    """Whether no more events were expected then."""

    @property
    def version(self) -> str:
        """Sorts as positions do: a run that counts as over is behind the same run before."""
        return _sorting(self.events, self.hlc, int(self.over))


@quick
@dataclass(frozen=True, slots=True)
class RunFinding:
    """A run's whole row, at a position. Its effects are those that the run's own events moved."""

    row: RunRow
    position: Position
    first_hlc: int
    """Of the run's earliest event: what runs are listed by."""

    @property
    def run_id(self) -> str:
        """The run it is about: the key of its record."""
        return self.row.run_id

    @property
    def key(self) -> str:
        """Findings with one key take each other's place."""
        return f"run/{self.row.run_id}"

    @property
    def version(self) -> str:
        """Of two findings with one key the one with the greater version stands."""
        return self.position.version


@quick
@dataclass(frozen=True, slots=True)
class EffectFinding:
    """Where an effect stands, by the event that moved it last, whichever run that event belongs to."""

    row: EffectRow
    stamp: tuple[int, str, int, int]
    """(hlc, agent_id, incarnation, seq) of that event."""
    position: Position
    """Of the run that the event belongs to. Where that is over, what was executing is UNKNOWN."""

    @property
    def run_id(self) -> str:
        """The run it is about: the key of its record."""
        return self.row.run_id

    @property
    def key(self) -> str:
        """Findings with one key take each other's place."""
        return f"effect/{self.row.effect_id}"

    @property
    def version(self) -> str:
        """Of two findings with one key the one with the greater version stands."""
        hlc, agent_id, incarnation, seq = self.stamp
        return f"{_sorting(hlc)}/{agent_id}/{_sorting(incarnation, seq)}/{self.position.version}"


@dataclass(frozen=True, slots=True)
class SignatureFinding:
    """A signature that a run shows at a position: it stands while the run's row has that position, too."""

    run_id: str
    """The run it is about: the key of its record."""
    tenant: str
    number: int
    """Its place among the run's signatures at that position, from 0."""
    hit: SignatureHit
    position: Position

    @property
    def key(self) -> str:
        """Findings with one key take each other's place: a run's signatures at a later position take those before."""
        return f"signature/{self.run_id}/{self.number}"

    @property
    def version(self) -> str:
        """Of two findings with one key the one with the greater version stands."""
        return self.position.version


class Condition(StrEnum):
    """What the auditor says of a stream, from the best to the worst."""

    INTACT = "INTACT"
    LATE = "LATE"
    """An event came after its run was closed."""
    GAPPED = "GAPPED"
    """A `seq` is missing."""
    FORKED = "FORKED"
    """One key, two hashes: both are kept."""
    BROKEN = "BROKEN"
    """A hash does not verify."""


@dataclass(frozen=True, slots=True)
class IntegrityFinding:
    """What the auditor counted in a stream."""

    run_id: str
    """The run it is about: the key of its record."""
    tenant: str
    agent_id: str
    incarnation: int
    condition: Condition
    events: int
    """Different ones."""
    seq: int
    """The highest."""
    problems: tuple[str, ...]
    """Sentences."""
    offset: int
    """Of the last record that was counted, in the run's partition."""

    @property
    def key(self) -> str:
        """Findings with one key take each other's place."""
        return f"integrity/{self.run_id}/{self.agent_id}/{self.incarnation}"

    @property
    def version(self) -> str:
        """Of two findings with one key the one with the greater version stands."""
        return _sorting(self.offset)


@dataclass(frozen=True, slots=True)
class SegmentFinding:
    """A stored and verified segment."""

    tenant: str
    name: str
    """In the bucket."""
    topic: str
    partition: int
    first_offset: int
    last_offset: int
    runs: int
    """How many have events in it; which ones its footer says."""
    events: int
    size: int
    """Bytes."""

    @property
    def run_id(self) -> str:
        """No run: its records are keyed by its name."""
        return self.name

    @property
    def key(self) -> str:
        """Findings with one key take each other's place."""
        return f"segment/{self.name}"

    @property
    def version(self) -> str:
        """The name holds the hash of the content: there is only one."""
        return _sorting(self.last_offset)


class ReplayState(StrEnum):
    """Where a replay job stands."""

    CREATED = "CREATED"
    PREPARING = "PREPARING"
    RUNNING = "RUNNING"
    COMPARING = "COMPARING"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    CANCELED = "CANCELED"


@dataclass(frozen=True, slots=True)
class ReplayFinding:
    """Where a replay of a run stands, and what it proved."""

    job_id: str
    tenant: str
    run_id: str
    """The run it is about: the key of its record."""
    mode: str
    """`EXACT`, `FORK_FROM_STEP`, …"""
    state: ReplayState
    result: str | None
    """`REPRODUCED`, `DIVERGED` or `LIMITED`, once it is COMPLETED."""
    divergence: str | None
    """The kind of the first divergence."""
    code_version: str | None
    """Of the control logic that was driven."""
    at_us: int
    """When it got there: microseconds since 1970."""
    seconds: float | None
    """How long it took, once it is over."""

    @property
    def key(self) -> str:
        """Findings with one key take each other's place."""
        return f"replay/{self.job_id}"

    @property
    def version(self) -> str:
        """Of two findings with one key the one with the greater version stands: a job only goes forward."""
        return _sorting(list(ReplayState).index(self.state), self.at_us)


Finding: TypeAlias = RunFinding | EffectFinding | SignatureFinding | IntegrityFinding | SegmentFinding | ReplayFinding
"""Any finding."""


def newer(one: Finding, other: Finding) -> bool:
    """Whether `one` takes the place of `other`: it has the same key and a greater version.

    So of any number of findings, in any order and however often they come, the same one stands in the end.
    """
    return one.key == other.key and one.version > other.version


def _sorting(*numbers: int) -> str:
    return _SORTING[len(numbers)] % numbers
