"""What travels from callers to the writer: drafts of events, and the streams they belong to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tachograph.core.causality import GENESIS
from tachograph.schemas import Cause


class Stream:
    """One stream while it is recorded.

    The caller's side (`seq`, `logical_time_us`, `ended`) changes under the queue's lock only; the writer's side
    (`head_…`) is touched only by whoever drains the queue.
    """

    __slots__ = (
        "agent_id", "ended", "head_hash", "head_hlc", "head_seq", "incarnation", "logical_time_us", "run_id", "seq",
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

    def head(self) -> Cause:
        """The latest event that was written, as a cause."""
        return Cause(self.run_id, self.agent_id, self.incarnation, self.head_seq, self.head_hash)


class Sent:
    """A message sent in this process: the writer fills in the hash before any receiver's event needs it."""

    __slots__ = ("body", "hash", "seq", "stream")

    def __init__(self, stream: Stream, body: bytes) -> None:
        self.stream = stream
        self.body = body
        """The message as canonical JSON, before redaction."""
        self.seq = 0
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


class Draft:
    """An event as its caller knows it; what is costly is left to the writer."""

    __slots__ = (
        "bodies", "causes", "error", "fields", "hlc", "logical_time_us", "recorded_at_us", "sent", "seq", "stream",
        "type", "written",
    )  # fmt: skip

    def __init__(
        self,
        type: str,  # noqa: A002 the field's term
        fields: dict[str, object],
        bodies: tuple[tuple[str, bytes | None], ...] = (),
        error: ErrorDraft | None = None,
        causes: tuple[CauseSource, ...] = (),
    ) -> None:
        self.type = type
        """The event type's name."""
        self.fields = fields
        """Every field but the meta, the bodies and the error, as the codec takes them; texts are not yet redacted."""
        self.bodies = bodies
        """Field name and canonical JSON before redaction."""
        self.error = error
        self.causes = causes
        self.sent: Sent | None = None
        """Gets the event's hash."""
        self.written: Callable[[], None] | None = None
        """Called by whoever drains the queue when the operating system has the event."""
        self.stream: Stream
        self.seq = 0
        self.hlc = 0
        self.recorded_at_us = 0
        self.logical_time_us: int | None = None

    def size(self) -> int:
        """Bytes it holds in memory, roughly."""
        size = DRAFT_BYTES
        for _, data in self.bodies:
            if data is not None:
                size += len(data)
        return size


DRAFT_BYTES = 800
"""What a draft takes without its bodies: the object, its fields' dictionary and the numbers in it."""
