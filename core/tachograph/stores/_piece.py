"""The quick way through a segment in which nothing is wrong; several processes can take it side by side.

What is unusual in the least is not judged here: then there is no piece, and the segment is checked the careful way.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from tachograph.core.canonical import Digester
from tachograph.core.causality import EventId, event_hash
from tachograph.core.errors import EvidenceBroken
from tachograph.schemas import CONTENT_OFFSET, Body, BodyErased, Cause, Error, Event, EventMeta, decode, schema_tag
from tachograph.stores._bodies import Reference, carriers
from tachograph.stores._chain import ENDS, HASH_BYTES, Place, StreamKey
from tachograph.stores._frame import (
    FORMAT_VERSION,
    HEADER_BYTES,
    SEALED_BYTES,
    SegmentHeader,
    spool_digest,
    unpack_header,
)
from tachograph.stores._scan import Ending, FrameScan
from tachograph.stores._segments import read_segment, segment_size
from tachograph.stores._state_check import STATING, StateNotes


class Task(NamedTuple):
    """A segment to look at."""

    file: Path
    path: str
    """Below the home's directory, for findings."""
    spool: str
    number: int
    may_end_early: bool
    """Whether it may end without a seal: its writer lives or died."""


@dataclass(slots=True)
class StreamPiece:
    """The events of one stream that lie in a segment: without gaps, each hash made over the one before."""

    key: StreamKey
    first_seq: int
    first: bytes
    """Payload of the first: its predecessor is not here, so its hash is not checked yet."""
    causes: tuple[bytes, ...]
    """Hashes of the first one's causes."""
    head: bytes
    """Hash of the last."""
    seq: int
    """Of the last."""
    offset: int
    """Of the last."""
    tag: str
    """Schema of the last."""
    hashes: bytearray

    @property
    def ends(self) -> bool:
        """Whether the last event ends the stream."""
        return self.tag.startswith(ENDS)

    def hash_of(self, seq: int) -> bytes | None:
        """The hash of an event, None where it is not in this piece."""
        index = seq - self.first_seq
        return bytes(self.hashes[index * HASH_BYTES : (index + 1) * HASH_BYTES]) if seq in self else None

    def __contains__(self, seq: int) -> bool:
        return self.first_seq <= seq <= self.seq


@dataclass(slots=True)
class SegmentPiece:
    """What a whole segment adds to the verification."""

    path: str
    streams: dict[StreamKey, StreamPiece] = field(default_factory=dict[StreamKey, StreamPiece])
    events: int = 0
    inline: int = 0
    """Inline bodies, all with their digests."""
    causes: list[tuple[Cause, EventId, Place]] = field(default_factory=list[tuple[Cause, EventId, Place]])
    """Causes that are not in this segment."""
    references: dict[bytes, Reference] = field(default_factory=dict[bytes, Reference])
    """Objects that its events name."""
    erased: list[bytes] = field(default_factory=list[bytes])
    state: StateNotes = field(default_factory=StateNotes)
    seal: bytes | None = None
    previous_seal: bytes = b""


def examine(task: Task, digester: Digester) -> SegmentPiece | None:
    """Look at a segment; None where it has to be looked at with care."""
    data = read_segment(task.file, 0, segment_size(task.file))
    header = unpack_header(data)
    if header is None or not _is_expected(header, task):
        return None
    scan = FrameScan(data, 0, header.crc, HEADER_BYTES)
    piece = SegmentPiece(task.path, previous_seal=header.previous_seal)
    sealed = [data[:HEADER_BYTES]]
    look = _Look(piece, digester).look
    try:
        for offset, payload in scan:
            if not look(payload, offset):
                return None
            sealed.append(payload[:SEALED_BYTES])
    except EvidenceBroken:
        return None
    return piece if _is_ended(piece, scan, sealed, task) else None


def _is_expected(header: SegmentHeader, task: Task) -> bool:
    return (header.version, header.spool, header.number) == (FORMAT_VERSION, spool_digest(task.spool), task.number)


def _is_ended(piece: SegmentPiece, scan: FrameScan, sealed: list[bytes], task: Task) -> bool:
    if scan.seal is None:
        return scan.ending is Ending.WHOLE and task.may_end_early
    piece.seal = scan.seal.digest
    whole = hashlib.sha256(b"".join(sealed)).digest() == scan.seal.digest
    return whole and scan.ending is Ending.SEALED and scan.seal.events == piece.events


class _Look:
    """Takes in one event after the other; says no as soon as one is unusual."""

    def __init__(self, piece: SegmentPiece, digester: Digester) -> None:
        self._piece = piece
        self._streams = piece.streams
        self._digest = digester.digest

    def look(self, payload: bytes, offset: int) -> bool:
        event = decode(payload)
        meta = event.meta
        tag = schema_tag(payload)
        stream = self._streams.get((meta.run_id, meta.agent_id, meta.incarnation))
        if stream is None:
            self._begin(payload, meta, offset, tag)
        else:
            if meta.seq != stream.seq + 1:
                return False
            causes = [cause.hash for cause in meta.causes] if meta.causes else ()
            if event_hash(tag, payload[CONTENT_OFFSET:], stream.head, causes) != meta.hash:
                return False
            stream.hashes += meta.hash
            stream.head, stream.seq, stream.offset, stream.tag = meta.hash, meta.seq, offset, tag
        self._piece.events += 1
        if meta.causes:
            self._note_causes(meta, offset)
        if type(event) in STATING:
            self._piece.state.take(event, Place(self._piece.path, offset))
        return self._has_bodies(event)

    def _begin(self, payload: bytes, meta: EventMeta, offset: int, tag: str) -> None:
        key = (meta.run_id, meta.agent_id, meta.incarnation)
        causes = tuple(cause.hash for cause in meta.causes)
        self._streams[key] = StreamPiece(
            key, meta.seq, payload, causes, meta.hash, meta.seq, offset, tag, bytearray(meta.hash)
        )

    def _note_causes(self, meta: EventMeta, offset: int) -> None:
        for cause in meta.causes:
            stream = self._streams.get((cause.run_id, cause.agent_id, cause.incarnation))
            if stream is None or stream.hash_of(cause.seq) != cause.hash:
                event_id = EventId(meta.run_id, meta.agent_id, meta.incarnation, meta.seq)
                self._piece.causes.append((cause, event_id, Place(self._piece.path, offset)))

    def _has_bodies(self, event: Event) -> bool:
        kind: type = type(event)
        for name in carriers(kind):
            body = getattr(event, name)
            if type(body) is Error:
                body = body.arguments
            if body is None:
                continue
            if body.inline is None:
                self._refer(body, event.meta)
            elif self._digest(body.inline) != body.digest:
                return False
            else:
                self._piece.inline += 1
        if isinstance(event, BodyErased):
            self._piece.erased.append(event.digest)
        return True

    def _refer(self, body: Body, meta: EventMeta) -> None:
        event_id = str(EventId(meta.run_id, meta.agent_id, meta.incarnation, meta.seq))
        for key in body.chunks:
            self._piece.references.setdefault(key, Reference(event_id, body.digest))
