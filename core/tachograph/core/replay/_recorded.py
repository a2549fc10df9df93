"""A stream as a replay needs it: its steps, and beside each call what came back and when."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tachograph.core.replay._values import Step
from tachograph.schemas import CallOutcome, ResponseDetails, Usage, quick


@dataclass(frozen=True, slots=True)
class RecordedError:
    """An exception that a replay raises again."""

    type: str
    """`module.qualified_name` of its class."""
    bases: tuple[str, ...]
    """The same of its base classes, nearest first."""
    message: str
    arguments: bytes | None
    """The exception's `args`, as a body's bytes, when they could be recorded."""


@quick
@dataclass(frozen=True, slots=True)
class Piece:
    """One piece of a streamed result, and how it was delivered."""

    data: bytes
    yields: int
    gap: int
    seq: int
    hlc: int
    redacted: bool = False


@quick
@dataclass(frozen=True, slots=True)
class Fixture:
    """What came back from a recorded call."""

    outcome: CallOutcome | None
    """None: it never came back."""
    result: bytes | None = None
    """A body's bytes; for `receive` the message."""
    error: RecordedError | None = None
    pieces: tuple[Piece, ...] = ()
    yields: int = 0
    """Loop turns it took, or `WAITED`, or that it was cancelled: as `core.boundary` counts them."""
    gap: int = 0
    """Loop turns since the process's previous delivery that had waited."""
    seq: int = 0
    """`seq` of the event that ended it; 0 where there is none."""
    hlc: int = 0
    """Of the event that ended it."""
    unrecorded: str | None = None
    """Why the result could not be recorded, where it could not."""
    redacted: bool = False
    """Control logic gets a token in place of a value somewhere in it."""
    usage: Usage | None = None
    details: ResponseDetails | None = None
    receipt: bytes | None = None
    message_id: str | None = None
    """For `receive`: which message."""
    from_agent_id: str | None = None
    """For `receive`: who sent it."""


@dataclass(frozen=True, slots=True)
class StreamSteps:
    """One stream, step by step."""

    run_id: str
    agent_id: str
    incarnation: int
    steps: Sequence[Step]
    """In order of their first event; `steps[n].number == n + 1`."""
    fixtures: Sequence[Fixture | None]
    """Beside each step; None where nothing comes back."""
    ended: bool = True
    """Whether the stream has its last event; else the recording breaks off behind the last step."""
    parent: tuple[str, int] | None = None
    """(agent_id, incarnation) of the stream that opened this one."""
    role: str = ""
    last_seq: int = 0
