"""Checking events against each other: hash chains, sequence numbers, causes."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tachograph.core.causality import GENESIS, EventId, event_hash
from tachograph.core.errors import EvidenceBroken
from tachograph.schemas import CONTENT_OFFSET, HASH, Cause, EventMeta, schema_tag
from tachograph.stores._findings import Finding, FindingKind

HASH_BYTES = 32
ENDS = ("AgentFinished/", "RunFinished/")
"""How the tags of the events begin that end a stream."""

StreamKey = tuple[str, str, int]
"""(run, agent, incarnation)."""


class Place(NamedTuple):
    """Where a frame lies."""

    path: str
    offset: int


_NOWHERE = Place("", 0)


class _Ahead(NamedTuple):
    """An event that lies before one that should come first."""

    hash: bytes
    ends: bool
    place: Place
    unchecked: bytes | None
    """Its payload, where its predecessor is not known and its hash cannot be checked yet."""
    meta: EventMeta


@dataclass(slots=True)
class StreamChain:
    """What is known of one stream."""

    hashes: bytearray = field(default_factory=bytearray)
    """Of the events 1, 2, 3, … up to the first that is missing."""
    head: bytes = GENESIS
    """Hash of the last of them."""
    seq: int = 0
    """Their number."""
    last: Place = _NOWHERE
    """Where the last of them lies."""
    ended: bool = False
    """Whether the stream's end was recorded."""
    alive: bool = False
    """Whether its process still records."""
    ahead: dict[int, _Ahead] = field(default_factory=dict[int, _Ahead])
    """The events behind the first that is missing, by seq."""

    def hash_of(self, seq: int) -> bytes | None:
        """The hash of an event, None where it is not there."""
        if 1 <= seq <= self.seq:
            return bytes(self.hashes[(seq - 1) * HASH_BYTES : seq * HASH_BYTES])
        found = self.ahead.get(seq)
        return GENESIS if seq == 0 else None if found is None else found.hash

    def append(self, event_hash: bytes, ends: bool, place: Place) -> None:
        """The stream goes on with this event."""
        self.hashes += event_hash
        self.head, self.last, self.seq = event_hash, place, self.seq + 1
        self.ended = self.ended or ends

    def catch_up(self) -> Iterator[_Ahead]:
        """Move what lay ahead and now follows into the stream; yields it."""
        while (found := self.ahead.pop(self.seq + 1, None)) is not None:
            yield found
            self.append(found.hash, found.ends, found.place)

    def gaps(self) -> Iterator[tuple[int, int, Place]]:
        """First and last seq of what is missing, and where the event behind it lies."""
        before = self.seq
        for seq in sorted(self.ahead):
            if seq > before + 1:
                yield before + 1, seq - 1, self.ahead[seq].place
            before = seq


class _Pending(NamedTuple):
    cause: Cause
    event: EventId
    place: Place


class Chains:
    """Takes in events as they lie in the log and tells what does not fit."""

    def __init__(self) -> None:
        self.streams: dict[StreamKey, StreamChain] = {}
        self.findings: list[Finding] = []
        self.alive = False
        """Whether the process that recorded the events which come now still records."""
        self._any_alive = False
        self._pending: list[_Pending] = []

    def add(self, payload: bytes, meta: EventMeta, place: Place) -> None:
        """Take in the next event of the log."""
        chain = self._chain_of((meta.run_id, meta.agent_id, meta.incarnation))
        known = _known(payload)
        ends = known and schema_tag(payload).startswith(ENDS)
        if meta.seq == chain.seq + 1:
            if known and not fits(payload, meta, chain.head):
                self._find_changed(meta, place)
            if chain.ahead:
                self._find(FindingKind.REORDERED, place, meta, "lies behind events of its stream that come after it")
            chain.append(meta.hash, ends, place)
            for late in chain.catch_up():
                if late.unchecked is not None and not fits(late.unchecked, late.meta, chain.head):
                    self._find_changed(late.meta, late.place)
        else:
            self._add_out_of_order(chain, payload if known else None, meta, place, ends)
        for cause in meta.causes:
            self.check_cause(cause, _id(meta), place)

    def join(self, key: StreamKey, seq: int, hashes: bytes | bytearray, place: Place, *, ends: bool) -> None:
        """A stream goes on with events that fit each other and it: see `continues`.

        Args:
            key: of the stream.
            seq: of the last of them.
            hashes: of all of them.
            place: of the last of them.
            ends: whether the last one ends the stream.
        """
        chain = self._chain_of(key)
        chain.hashes += hashes
        chain.head, chain.seq, chain.last = bytes(hashes[-HASH_BYTES:]), seq, place
        chain.ended = chain.ended or ends

    def continues(self, key: StreamKey, seq: int, payload: bytes, causes: Sequence[bytes]) -> bool:
        """Whether an event is exactly the next one of a stream in which nothing is missing."""
        chain = self.streams.get(key)
        head, last = (GENESIS, 0) if chain is None else (chain.head, chain.seq)
        if seq != last + 1 or (chain is not None and chain.ahead):
            return False
        return event_hash(schema_tag(payload), payload[CONTENT_OFFSET:], head, causes) == payload[HASH]

    def check_cause(self, cause: Cause, event: EventId, place: Place) -> None:
        """A cause must be there, with that hash; it may come later."""
        chain = self.streams.get((cause.run_id, cause.agent_id, cause.incarnation))
        found = None if chain is None else chain.hash_of(cause.seq)
        if found != cause.hash:
            self._pending.append(_Pending(cause, event, place))

    def accepts(self, payload: bytes, meta: EventMeta) -> bool:
        """Whether an event's bytes are as recorded, as far as the events seen so far can tell."""
        chain = self.streams.get((meta.run_id, meta.agent_id, meta.incarnation))
        if chain is None:
            return meta.seq == 1 and fits(payload, meta, GENESIS)
        previous = chain.hash_of(meta.seq - 1)
        return fits(payload, meta, previous) if previous is not None else meta.seq > chain.seq

    def missing(self) -> Iterator[tuple[StreamKey, int]]:
        """Events that are not there although another one says so, then those with which a stream may go on."""
        for key, chain in self.streams.items():
            for first, last, _ in chain.gaps():
                yield from ((key, seq) for seq in (first, last))
        for cause, _, _ in self._pending:
            key = (cause.run_id, cause.agent_id, cause.incarnation)
            if key not in self.streams or self.streams[key].hash_of(cause.seq) is None:
                yield key, cause.seq
        yield from ((key, chain.seq + 1) for key, chain in self.streams.items() if not chain.ended)

    def settle(self, other: Chains) -> None:
        """A cause that lies in another log is not missing, where its stream has nothing in this one.

        Args:
            other: what was seen of the other log.
        """
        self._pending = [waiting for waiting in self._pending if not self._is_there(waiting.cause, other)]

    def finish(self, explained: Container[str] = ()) -> None:
        """Everything has been seen: what is missing now is missing.

        Args:
            explained: ids of events that were found damaged, which says why they are missing here.
        """
        for key, chain in self.streams.items():
            for first, last, place in chain.gaps():
                unexplained = [seq for seq in (first, last) if str(EventId(*key, seq)) not in explained]
                if unexplained:
                    self._find_missing(key, unexplained[0], unexplained[-1], place)
        for cause, event, place in self._pending:
            self._check_late(cause, event, place, explained)

    def _is_there(self, cause: Cause, other: Chains) -> bool:
        key = (cause.run_id, cause.agent_id, cause.incarnation)
        chain = other.streams.get(key)
        return chain is not None and key not in self.streams and chain.hash_of(cause.seq) == cause.hash

    def _chain_of(self, key: StreamKey) -> StreamChain:
        chain = self.streams.get(key)
        if chain is None:
            chain = self.streams[key] = StreamChain(alive=self.alive)
            self._any_alive = self._any_alive or self.alive
        return chain

    def _add_out_of_order(
        self, chain: StreamChain, payload: bytes | None, meta: EventMeta, place: Place, ends: bool
    ) -> None:
        known = chain.hash_of(meta.seq)
        previous = chain.hash_of(meta.seq - 1)
        whole = previous is None or payload is None or fits(payload, meta, previous)
        if known is not None and known == meta.hash and whole:
            self._find(FindingKind.DUPLICATE, place, meta, "lies in the log a second time")
        elif known is not None or meta.seq < 1:
            self._find(FindingKind.FORKED, place, meta, "has the key of an earlier event, but other bytes")
        else:
            if not whole:
                self._find_changed(meta, place)
            unchecked = payload if previous is None else None
            if chain.ahead and meta.seq < max(chain.ahead):
                self._find(FindingKind.REORDERED, place, meta, "lies behind events of its stream that come after it")
            chain.ahead[meta.seq] = _Ahead(meta.hash, ends, place, unchecked, meta)

    def _check_late(self, cause: Cause, event: EventId, place: Place, explained: Container[str]) -> None:
        chain = self.streams.get((cause.run_id, cause.agent_id, cause.incarnation))
        found = None if chain is None else chain.hash_of(cause.seq)
        if found == cause.hash:
            return
        name = EventId(cause.run_id, cause.agent_id, cause.incarnation, cause.seq)
        if str(name) in explained:
            return
        if found is None and (self._any_alive if chain is None else chain.alive):
            return
        if found is None:
            sentence = f"{name} is not in the log; {event} names it as its cause."
            self.findings.append(Finding(FindingKind.MISSING, "damage", *place, str(name), sentence))
        else:
            sentence = f"{event} has {name} as its cause, but with another hash: one of the two was changed."
            self.findings.append(Finding(FindingKind.CAUSE, "damage", *place, str(name), sentence))

    def _find_missing(self, key: StreamKey, first: int, last: int, place: Place) -> None:
        name, end = EventId(*key, first), EventId(*key, last)
        which = f"{name} is" if first == last else f"{name} to {end} are"
        sentence = f"{which} not in the log; the stream goes on behind."
        self.findings.append(Finding(FindingKind.MISSING, "damage", *place, str(name), sentence))

    def _find_changed(self, meta: EventMeta, place: Place) -> None:
        self._find(
            FindingKind.CHANGED,
            place,
            meta,
            "does not have its hash: it, the event before it in its stream, or a cause that it names was changed",
        )

    def _find(self, kind: FindingKind, place: Place, meta: EventMeta, what: str) -> None:
        name = str(_id(meta))
        self.findings.append(Finding(kind, "damage", *place, name, f"{name} {what}."))


def fits(payload: bytes, meta: EventMeta, previous: bytes) -> bool:
    """Whether an event's hash is made over its bytes, the hash before it and its causes."""
    causes = [cause.hash for cause in meta.causes]
    return event_hash(schema_tag(payload), payload[CONTENT_OFFSET:], previous, causes) == payload[HASH]


def _id(meta: EventMeta) -> EventId:
    return EventId(meta.run_id, meta.agent_id, meta.incarnation, meta.seq)


def _known(payload: bytes) -> bool:
    """Whether this release knows the event's schema, whose name its hash is made over."""
    try:
        schema_tag(payload)
    except EvidenceBroken:
        return False
    return True
