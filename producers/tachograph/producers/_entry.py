"""What travels from callers to the writer: events in the making, and the streams they belong to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tachograph.core.causality import GENESIS
from tachograph.schemas import Cause, HeadEncoder


class NotStated:
    """In place of a result, where control logic is a block of code that gives none."""


class Stream:
    """One stream while it is recorded.

    The caller's side (`seq`, `logical_time_us`, `ended`) changes under the queue's lock only; the writer's side
    (`head_…`) is touched only by whoever drains the queue.
    """

    __slots__ = (
        "agent_id", "encoder", "ended", "head_hash", "head_hlc", "head_seq", "incarnation", "logical_time_us", "run_id", "seq",
        "values",
    )  # fmt: skip

    def __init__(self, run_id: str, agent_id: str, incarnation: int) -> None:
        self.run_id = run_id
        self.agent_id = agent_id
        self.incarnation = incarnation
        self.seq = 0
        self.logical_time_us: int | None = None
        self.ended = False
        self.head_seq = 0
        self.head_hlc = 0
        self.head_hash = GENESIS
        self.encoder: HeadEncoder | None = None
        """Made by the writer with the first event."""
        self.values: dict[str, bytes] | None = None
        """Application state: the digest of each value, kept by the writer once there is any."""

    def head(self) -> Cause:
        """The latest event that was written, as a cause."""
        return Cause(self.run_id, self.agent_id, self.incarnation, self.head_seq, self.head_hash)


class Sent:
    """A message sent in this process: the writer fills in the hash before any receiver's event needs it."""

    __slots__ = ("body", "hash", "hlc", "seq", "stream")

    def __init__(self, stream: Stream, body: bytes) -> None:
        self.stream = stream
        self.body = body
        """The message as canonical JSON, before redaction."""
        self.seq = 0
        self.hlc = 0
        self.hash = b""

    def head(self) -> Cause:
        """The MessageSent, as a cause."""
        return Cause(self.stream.run_id, self.stream.agent_id, self.stream.incarnation, self.seq, self.hash)


CauseSource = Cause | Sent | Stream
"""A cause whose hash is known, or that the writer knows by the time it is needed. A stream stands for its latest
event at this place in the queue."""


@dataclass(frozen=True, slots=True)
class ErrorDraft:
    """An exception on its way into an event."""

    type: str
    bases: tuple[str, ...]
    message: str
    arguments: bytes | None


@dataclass(frozen=True, slots=True)
class Extra:
    """What few events have."""

    error: ErrorDraft | None = None
    causes: tuple[CauseSource, ...] = ()
    sent: Sent | None = None
    """Gets the event's place and hash."""
    written: Callable[[], None] | None = None
    """Called by whoever drains the queue when the operating system has the event."""


@dataclass(frozen=True, slots=True)
class Draft:
    """An event as its caller knows it; what is costly is left to the writer."""

    type: str
    """The event type's name."""
    fields: dict[str, object]
    """Every field but the meta. Bodies are canonical JSON before redaction, texts are not yet redacted, `details` and
    `usage` are values of the boundary, `error` stands in `extra`."""
    extra: Extra | None = None

    def size(self) -> int:
        """Bytes of its bodies."""
        return sum(len(value) for value in self.fields.values() if type(value) is bytes)


CallOpening = tuple[str, str, "str | None", str, bytes]
"""A CallStarted that is a first attempt and has neither key nor details: kind, name, version, effect, arguments.
The texts are exactly `str`."""

CallEnding = tuple[int, str, int, int, bytes]
"""A CallFinished with a result and nothing else: call_id, outcome, yields, gap, result."""

Fields = dict[str, object] | CallOpening | CallEnding
"""An event's fields as in `Draft`; or a plain call's, which most of a recording consists of."""

ENTRY_BYTES = 800
"""What an event in the queue takes without its bodies: the entry, its fields' dictionary and the numbers in it."""

Entry = tuple[Stream, int, int, int, "int | None", str, Fields, "Extra | None", "str | None", int]
"""An event in its place: stream, seq, hlc, recorded at (us), logical time (us), type, fields, extra, trace, bytes in memory.

A tuple, since one is made for every event on the caller's thread."""
