"""Writes events of a fork: encoded, hashed, chained, and put on a spool of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self, cast

from tachograph.core.canonical import make_body
from tachograph.core.causality import GENESIS, HybridClock, event_hash
from tachograph.core.state import values_digest
from tachograph.replay_workers._fork_draft import Failure, Payload
from tachograph.replay_workers._places import StreamKey
from tachograph.schemas import Cause, encode_record, prefix_of, schema_tag
from tachograph.stores import Home

_HASH_BYTES = 32
_UNHASHED = bytes(_HASH_BYTES)
_BATCH_MAX = 256


@dataclass(slots=True)
class _Head:
    """The latest event of a stream."""

    seq: int = 0
    hash: bytes = GENESIS


class RunWriter:
    """Writes one run; a context manager that makes durable what it wrote.

    Args:
        home: where.
        run_id: the run's id.
        tenant: its owner.
        after_hlc: every event's clock lies above it.
    """

    def __init__(self, home: Home, run_id: str, tenant: str, after_hlc: int) -> None:
        self.run_id = run_id
        self._home = home
        self._tenant = tenant
        self._now_us = 0
        self._clock = HybridClock(lambda: self._now_us)
        self._after_hlc = after_hlc
        self._heads: dict[StreamKey, _Head] = {}
        self._payloads: list[bytes] = []
        self._values: dict[StreamKey, dict[str, bytes]] = {}

    def __enter__(self) -> Self:
        self._spool = self._home.new_spool()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                self._hand_over()
                self._spool.sync()
        finally:
            self._spool.close()

    def head(self, stream: StreamKey) -> Cause | None:
        """A stream's latest event, as a cause."""
        head = self._heads.get(stream)
        return Cause(self.run_id, *stream, head.seq, head.hash) if head is not None else None

    def body(self, payload: Payload) -> dict[str, object]:
        """A body as the codec takes it; its chunks are stored."""
        body, chunks = make_body(payload.data, redacted=payload.redacted, digester=self._home.digester)
        for key, chunk in chunks:
            self._home.objects.put(key, chunk)
        return {
            "digest": body.digest,
            "size": body.size,
            "redacted": body.redacted,
            "inline": body.inline,
            "chunks": list(body.chunks),
        }

    def error(self, failure: Failure) -> dict[str, object]:
        """An exception as the codec takes it."""
        return {
            "type": failure.type,
            "bases": list(failure.bases),
            "message": failure.message,
            "arguments": self.body(failure.arguments) if failure.arguments is not None else None,
        }

    def write(
        self,
        stream: StreamKey,
        kind: str,
        fields: dict[str, object],
        *,
        at_us: int,
        told_us: int | None = None,
        causes: Sequence[Cause] = (),
    ) -> Cause:
        """Append an event to its stream; returns it as a cause.

        Args:
            stream: which.
            kind: the event type's name.
            fields: everything but the meta, as the codec takes it.
            at_us: when it was recorded, microseconds since 1970.
            told_us: the logical time.
            causes: in other streams.
        """
        head = self._heads.get(stream)
        if head is None:
            head = self._heads[stream] = self._opened(stream)
        self._now_us = at_us
        if self._after_hlc:
            self._clock.observe(self._after_hlc)
            self._after_hlc = 0
        head.seq += 1
        meta = self._meta(stream, head.seq, at_us, told_us, causes)
        self._note(stream, kind, fields, causes)
        content = encode_record(kind, {**fields, "meta": meta})[_HASH_BYTES:]
        prefix = prefix_of(kind)
        tag = schema_tag(prefix + _UNHASHED)
        head.hash = event_hash(tag, content, head.hash, [cause.hash for cause in causes])
        self._payloads.append(prefix + head.hash + content)
        if len(self._payloads) >= _BATCH_MAX:
            self._hand_over()
        return Cause(self.run_id, *stream, head.seq, head.hash)

    def _note(self, stream: StreamKey, kind: str, fields: dict[str, object], causes: Sequence[Cause]) -> None:
        """Keep what the run's end has to state of application state."""
        if kind == "StateChanged":
            value = cast("Mapping[str, bytes]", fields["value"])
            self._values.setdefault(stream, {})[str(fields["key"])] = value["digest"]
        elif kind == "RunFinished":
            closed = {stream, *((cause.agent_id, cause.incarnation) for cause in causes)}
            fields["state_digest"] = values_digest((*one, self._values.get(one, {})) for one in closed)

    def _opened(self, stream: StreamKey) -> _Head:
        """Claim the stream: nobody else may write a life of this number."""
        agent_id, incarnation = stream
        while self._home.claim_incarnation(self.run_id, agent_id) < incarnation:
            pass
        return _Head()

    def _meta(
        self, stream: StreamKey, seq: int, at_us: int, told_us: int | None, causes: Sequence[Cause]
    ) -> dict[str, object]:
        return {
            "hash": _UNHASHED,
            "seq": seq,
            "hlc": self._clock.tick(),
            "agent_id": stream[0],
            "incarnation": stream[1],
            "run_id": self.run_id,
            "tenant": self._tenant,
            "causes": [
                {"run_id": one.run_id, "agent_id": one.agent_id, "incarnation": one.incarnation, "seq": one.seq,
                 "hash": one.hash}
                for one in causes
            ],
            "recorded_at_us": at_us,
            "logical_time_us": told_us,
            "trace": None,
        }  # fmt: skip

    def _hand_over(self) -> None:
        payloads, self._payloads = self._payloads, []
        self._spool.append(payloads)
