"""A unit of replay, and what its replay showed, as values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from tachograph.core.replay import StreamSteps, UnitResult
from tachograph.replay_workers._alternatives import Alternative, Otherwise
from tachograph.replay_workers._places import FiredTimer, Order, StreamKey


@dataclass(frozen=True, slots=True)
class Unit:
    """One entry point invocation, with every stream opened under it: what a replay drives."""

    run_id: str
    key: StreamKey
    """Its own stream: the root's, or that of the agent that joined."""
    kind: Literal["run", "agent"]
    entrypoint: str
    """`module:qualified_name`."""
    arguments: bytes
    """A body: `{"args": [...], "kwargs": {...}}`."""
    arguments_redacted: bool
    redaction: str
    """Version of the policy it was recorded under."""
    streams: tuple[StreamSteps, ...]
    times: Mapping[StreamKey, Sequence[int]]
    """`recorded_at_us` of every event of a stream, by `seq - 1`."""
    timers: tuple[FiredTimer, ...] = ()
    """The timers of control logic that fired, in recorded order."""
    code: tuple[str, ...] = ()
    """Directories that stand first on `sys.path`."""
    steps_max: int = 1_000_000
    cpu_seconds_max: float = 30.0
    """Processor time without a step."""
    order: Order | None = None
    """Set where it was made already, for one attempt."""

    @property
    def started_at_us(self) -> int:
        """When it began, microseconds since 1970."""
        times = self.times.get(self.key, ())
        return times[0] if times else 0


@dataclass(frozen=True, slots=True)
class Attempt:
    """What one replay of a unit showed."""

    result: UnitResult
    ended: str | None = None
    """How control logic ended: `OK`, or its error; None: it did not end."""
    matched: int = 0
    """Steps that were as recorded, each in its place."""
    alternatives: tuple[Alternative, ...] = ()
    """What may have happened in another order."""
    output: str = ""
    """The end of what control logic printed."""
    source: str | None = None
    """Where the code lies that was driven: a file, or the directory of a package."""
    spun: bool = False
    """It was stopped because it went on and on without a step."""
    otherwise: Otherwise = field(default_factory=Otherwise)
