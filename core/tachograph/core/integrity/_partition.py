"""All streams of a partition of the log, recounted within bounded memory."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple, cast

import orjson

from tachograph.core.causality import hlc_ms
from tachograph.core.errors import CorruptPayload
from tachograph.core.integrity._head import Head, Verdict
from tachograph.core.integrity._stream import StreamAudit

_FORMAT: Final = 1


class StreamKey(NamedTuple):
    """A stream of a tenant."""

    tenant: str
    run_id: str
    agent_id: str
    incarnation: int


@dataclass(frozen=True, slots=True)
class Limits:
    """How much is remembered, and how long."""

    finished_ms: int = 300_000
    """Log time after which a finished run is closed: other processes' events may lag so far behind."""
    quiet_ms: int = 3_600_000
    """Log time after which a run that says nothing is closed."""
    streams_max: int = 50_000
    """Open streams; the one that was quiet longest is let go of. Each takes 4 KB at most while nothing is wrong."""
    closed_max: int = 20_000
    """Closed streams whose last event is remembered, so that what comes late is known as such."""


@dataclass(slots=True)
class _Stream:
    audit: StreamAudit
    hlc: int
    changed: bool = True
    """Since it was last told."""


class PartitionAudit:
    """Recounts every stream whose events lie in one partition, in the order of the partition.

    The same records give the same verdicts, whoever counts: time is the log's own.

    Args:
        limits: of memory.
        from_start: whether the partition is counted from its first record; else a stream's first event that is met is
            not held to be its first.
    """

    def __init__(self, limits: Limits = Limits(), *, from_start: bool = True) -> None:
        self._limits = limits
        self._from_start = from_start
        self._streams: dict[StreamKey, _Stream] = {}
        self._finished: dict[tuple[str, str], int] = {}
        self._closed: dict[StreamKey, StreamAudit] = {}
        self._closed_runs: dict[tuple[str, str], None] = {}
        self._hlc = 0

    def __len__(self) -> int:
        return len(self._streams)

    def add(self, key: StreamKey, head: Head, hlc: int) -> Verdict:
        """Count an event."""
        stream = self._streams.get(key)
        if stream is None:
            stream = self._streams[key] = _Stream(self._opened(key, head), hlc)
        self._hlc = max(self._hlc, hlc)
        stream.hlc, stream.changed = max(stream.hlc, hlc), True
        verdict = stream.audit.add(head, closed=bool(self._closed_runs) and key[:2] in self._closed_runs)
        if head.ends and head.tag is not None and head.tag.startswith("RunFinished/"):
            self._finished[key[:2]] = hlc
        return verdict

    def audit(self, key: StreamKey) -> StreamAudit:
        """The audit of an open stream."""
        return self._streams[key].audit

    def remembered(self) -> Iterator[tuple[StreamKey, StreamAudit]]:
        """Every stream that is open, or of which the end is remembered."""
        for key, stream in self._streams.items():
            yield key, stream.audit
        yield from self._closed.items()

    def changed(self) -> Iterator[tuple[StreamKey, StreamAudit]]:
        """The streams that went on since this was last asked."""
        for key, stream in self._streams.items():
            if stream.changed:
                stream.changed = False
                yield key, stream.audit

    def close_quiet(self) -> Iterator[tuple[str, str]]:
        """Close the runs in which nothing more is expected, and let go of their streams; tenant and id of each."""
        runs: dict[tuple[str, str], list[StreamKey]] = {}
        for key in self._streams:
            runs.setdefault(key[:2], []).append(key)
        for run, keys in runs.items():
            wait = self._limits.finished_ms if run in self._finished else self._limits.quiet_ms
            if hlc_ms(max(self._streams[key].hlc for key in keys)) + wait < hlc_ms(self._hlc):
                self._close(run, keys)
                yield run
        excess = len(self._streams) - self._limits.streams_max
        if excess > 0:
            for key in sorted(self._streams, key=lambda key: self._streams[key].hlc)[:excess]:
                self._let_go(key)

    def to_bytes(self) -> bytes:
        """Everything but contents of waiting events."""
        state = {
            "format": _FORMAT,
            "from_start": self._from_start,
            "hlc": self._hlc,
            "streams": [[list(key), one.hlc, one.audit.to_json()] for key, one in self._streams.items()],
            "finished": [[*run, hlc] for run, hlc in self._finished.items()],
            "closed": [[list(key), one.to_json()] for key, one in self._closed.items()],
            "closed_runs": [list(run) for run in self._closed_runs],
        }
        return zlib.compress(orjson.dumps(state), 1)

    @classmethod
    def from_bytes(cls, data: bytes, limits: Limits = Limits()) -> PartitionAudit:
        """The inverse of `to_bytes`.

        Raises:
            CorruptPayload: it is none.
        """
        try:
            read = orjson.loads(zlib.decompress(data))
            if read["format"] != _FORMAT:
                raise ValueError(f"its format is {read['format']!r}")
            audit = cls(limits, from_start=read["from_start"])
            audit._hlc = read["hlc"]
            for key, hlc, stream in read["streams"]:
                audit._streams[StreamKey(*key)] = _Stream(StreamAudit.from_json(stream), hlc, changed=False)
            audit._finished = {(tenant, run_id): hlc for tenant, run_id, hlc in read["finished"]}
            audit._closed = {StreamKey(*key): StreamAudit.from_json(stream) for key, stream in read["closed"]}
            for tenant, run_id in read["closed_runs"]:
                audit._closed_runs[tenant, run_id] = None
        except (KeyError, TypeError, ValueError, zlib.error) as error:
            raise CorruptPayload("the state of an audit", 0, f"it does not read as one: {error}") from error
        return audit

    def _opened(self, key: StreamKey, head: Head) -> StreamAudit:
        known = self._closed.pop(key, None)
        if known is not None:
            return known
        return StreamAudit(begins_at=1 if self._from_start else max(1, head.seq))

    def _close(self, run: tuple[str, str], keys: list[StreamKey]) -> None:
        self._finished.pop(run, None)
        self._closed_runs[run] = None
        _trim(cast("dict[object, object]", self._closed_runs), self._limits.closed_max)
        for key in keys:
            self._let_go(key)

    def _let_go(self, key: StreamKey) -> None:
        audit = self._streams.pop(key).audit
        audit.condense()
        self._closed[key] = audit
        _trim(cast("dict[object, object]", self._closed), self._limits.closed_max)


def _trim(remembered: dict[object, object], most: int) -> None:
    while len(remembered) > most:
        del remembered[next(iter(remembered))]
