"""Events of a fork on their way from the replaying process, which has neither key nor log, to its parent, who writes them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from threading import RLock
from typing import cast

from tachograph.core.canonical import decode_body, encode_body
from tachograph.replay_workers._places import StreamKey
from tachograph.replay_workers._wire import Frame, Json

BATCH_MAX = 64
"""Drafts sent at once: what a killed process did last is lost, and a question to the parent takes its time."""


@dataclass(frozen=True, slots=True)
class Payload:
    """A body after redaction."""

    data: bytes
    redacted: bool = False


@dataclass(frozen=True, slots=True)
class Failure:
    """An exception."""

    type: str
    bases: tuple[str, ...]
    message: str
    arguments: Payload | None


@dataclass(frozen=True, slots=True)
class Draft:
    """An event without its meta."""

    stream: StreamKey
    type: str
    at: float
    """Virtual seconds since the unit's first recorded event."""
    told: int | None
    """Logical time, microseconds since 1970."""
    fields: dict[str, object]
    """As the codec takes them: everything but meta, bodies and error."""
    bodies: dict[str, Payload | None]
    error: Failure | None = None
    source: int | None = None
    """`seq` of the recorded event that all other fields are those of."""
    origin: int | None = None
    """`seq` of the recorded event that this one stands for."""
    cause: tuple[StreamKey, int] | None = None
    """Of a MessageReceived: stream and `seq` of the fork's own MessageSent. Of an AgentStarted: the stream that opened it;
    0 stands for its latest event."""


class DraftLog:
    """Collects the drafts of a unit and sends them on in batches. Safe to use from threads."""

    def __init__(self, own: StreamKey, send: Callable[[Frame], object]) -> None:
        self._send = send
        self._waiting: list[Json] = []
        self._seqs: dict[StreamKey, int] = {own: 1}
        self._lock = RLock()

    def append(self, draft: Draft) -> int:
        """Append an event; returns its `seq`. The unit's own first event is the parent's to write."""
        with self._lock:
            seq = self._seqs[draft.stream] = self._seqs.get(draft.stream, 0) + 1
            self._waiting.append(draft_json(draft))
            if len(self._waiting) >= BATCH_MAX:
                self.flush()
        return seq

    def flush(self) -> None:
        """Send what is waiting."""
        with self._lock:
            waiting, self._waiting = self._waiting, []
            if waiting:
                self._send({"ask": "events", "events": waiting})


def draft_json(draft: Draft) -> Json:
    """A draft as JSON."""
    error = draft.error
    return [
        list(draft.stream),
        draft.type,
        draft.at,
        draft.told,
        encode_body(draft.fields).decode(),
        {name: _payload_json(payload) for name, payload in draft.bodies.items()},
        None if error is None else [error.type, list(error.bases), error.message, _payload_json(error.arguments)],
        draft.source,
        draft.origin,
        [*draft.cause[0], draft.cause[1]] if draft.cause is not None else None,
    ]


def draft_of(data: Json) -> Draft:
    """The inverse of `draft_json`."""
    stream, kind, at, told, fields, bodies, error, source, origin, cause = cast("list[Json]", data)
    return Draft(
        _key(stream),
        cast("str", kind),
        cast("float", at),
        cast("int | None", told),
        cast("dict[str, object]", decode_body(cast("str", fields).encode())),
        {name: _payload(payload) for name, payload in cast("dict[str, Json]", bodies).items()},
        _failure(error),
        cast("int | None", source),
        cast("int | None", origin),
        _place(cause) if cause is not None else None,
    )


def _key(data: Json) -> StreamKey:
    agent_id, incarnation = cast("list[Json]", data)
    return cast("str", agent_id), cast("int", incarnation)


def _place(data: Json) -> tuple[StreamKey, int]:
    agent_id, incarnation, seq = cast("list[Json]", data)
    return (cast("str", agent_id), cast("int", incarnation)), cast("int", seq)


def _payload_json(payload: Payload | None) -> Json:
    return None if payload is None else [payload.data.decode(), payload.redacted]


def _payload(data: Json) -> Payload | None:
    if data is None:
        return None
    text, redacted = cast("list[Json]", data)
    return Payload(cast("str", text).encode(), redacted is True)


def _failure(data: Json) -> Failure | None:
    if data is None:
        return None
    kind, bases, message, arguments = cast("list[Json]", data)
    return Failure(cast("str", kind), tuple(cast("list[str]", bases)), cast("str", message), _payload(arguments))
