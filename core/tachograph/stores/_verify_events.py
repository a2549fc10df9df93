"""Checking the events of segments: what they say of themselves, and of which event a damaged frame is."""

from __future__ import annotations

from tachograph.core.causality import EventId
from tachograph.core.errors import EvidenceBroken
from tachograph.schemas import Event, EventMeta, UnsupportedSchema, decode, decode_meta, is_optional
from tachograph.stores._address import Unaddressed, address_of
from tachograph.stores._bodies import BodyCheck
from tachograph.stores._chain import Chains, Place, StreamChain, StreamKey
from tachograph.stores._damaged import ADDRESS_BYTES_MAX, DamagedFrame
from tachograph.stores._findings import Finding, FindingKind
from tachograph.stores._piece import SegmentPiece
from tachograph.stores._state_check import StateNotes
from tachograph.stores._verify_segment import Frame, SegmentCheck

_HINTS_MAX = 16
"""Exchanged frames that are named for one broken seal."""


class EventCheck:
    """Takes in segments and hands their events to the checks of chains and bodies.

    Args:
        chains: gets every event.
        bodies: gets every event that can be decoded.
        run_ids: the runs to look at; None: all.
    """

    def __init__(self, chains: Chains, bodies: BodyCheck, run_ids: frozenset[str] | None) -> None:
        self.findings: list[Finding] = []
        self.damaged: list[DamagedFrame] = []
        self.count = 0
        self.state = StateNotes()
        self._chains = chains
        self._bodies = bodies
        self._run_ids = run_ids

    def check(self, segment: SegmentCheck) -> None:
        """Take in a segment's frames."""
        hlc = 0
        exchanged: list[tuple[Place, EventId]] = []
        for frame in segment:
            place = Place(segment.path, frame.offset)
            if self._is_elsewhere(frame):
                continue
            if frame.damage is not None:
                self._check_damaged(frame, place)
                continue
            event = self._decoded(frame.payload, place)
            if event is None:
                continue
            self._take(frame.payload, event, place)
            meta = event.meta
            if meta.hlc < hlc and len(exchanged) < _HINTS_MAX:
                exchanged.append((place, _id(meta)))
            hlc = meta.hlc
        if segment.seal_broken:
            self._name_exchanged(exchanged)

    def take(self, payload: bytes, place: Place) -> None:
        """Take in one event."""
        event = self._decoded(payload, place)
        if event is not None:
            self._take(payload, event, place)

    def join(self, piece: SegmentPiece) -> bool:
        """Take in a segment in which nothing is wrong; False, and nothing done, where it does not fit the ones before."""
        chains = self._chains
        if not all(chains.continues(one.key, one.first_seq, one.first, one.causes) for one in piece.streams.values()):
            return False
        for one in piece.streams.values():
            chains.join(one.key, one.seq, one.hashes, Place(piece.path, one.offset), ends=one.ends)
        for cause, event, place in piece.causes:
            chains.check_cause(cause, event, place)
        self._bodies.join(piece.references, piece.erased, piece.inline)
        self.state.join(piece.state)
        self.count += piece.events
        return True

    def truncated(self) -> list[Finding]:
        """Streams whose process died before their end was recorded."""
        return [
            _truncated(key, chain)
            for key, chain in self._chains.streams.items()
            if not chain.ended and not chain.alive and chain.seq
        ]

    def _is_elsewhere(self, frame: Frame) -> bool:
        """Whether a whole frame belongs to a run that is not looked at."""
        if self._run_ids is None or frame.damage is not None:
            return False
        try:
            return address_of(frame.payload).run_id not in self._run_ids
        except Unaddressed:
            return False

    def _take(self, payload: bytes, event: Event, place: Place) -> None:
        meta = event.meta
        if self._run_ids is None or meta.run_id in self._run_ids:
            self.count += 1
            self._chains.add(payload, meta, place)
            self._bodies.add(event, place, lambda: str(_id(meta)))
            self.state.take(event, place)

    def _decoded(self, payload: bytes, place: Place) -> Event | None:
        try:
            return decode(payload)
        except UnsupportedSchema as error:
            self._take_unknown(payload, place, error)
        except EvidenceBroken as error:
            self._keep_damaged(payload, place, f"it cannot be decoded: {error}", FindingKind.UNREADABLE)
        return None

    def _take_unknown(self, payload: bytes, place: Place, error: UnsupportedSchema) -> None:
        """An event of a newer release keeps its place in the chain, though its hash cannot be checked."""
        try:
            meta = decode_meta(payload)
        except EvidenceBroken:
            self._keep_damaged(payload, place, str(error), FindingKind.UNREADABLE)
            return
        self._chains.add(payload, meta, place)
        if not is_optional(payload):
            self._find(FindingKind.UNREADABLE, place, _id(meta), str(error))

    def _check_damaged(self, frame: Frame, place: Place) -> None:
        assert frame.damage is not None
        event = _whole(frame.payload, self._chains)
        if event is None:
            self._keep_damaged(frame.payload, place, f"{frame.damage}; its bytes were changed", FindingKind.FRAME)
            return
        name = _id(event.meta)
        what = "the frame before it was removed, added or exchanged, or its own checksum or length was changed"
        self._find(FindingKind.FRAME, place, name, f"{name}: {frame.damage}; {what}.")
        self._take(frame.payload, event, place)

    def _keep_damaged(self, payload: bytes, place: Place, damage: str, kind: FindingKind) -> None:
        self.damaged.append(DamagedFrame(payload[:ADDRESS_BYTES_MAX], place, damage, kind))

    def _name_exchanged(self, exchanged: list[tuple[Place, EventId]]) -> None:
        named = {finding.event_id for finding in self._chains.findings}
        for place, name in exchanged:
            if str(name) not in named:
                self._find(
                    FindingKind.REORDERED, place, name, f"{name} lies behind events that were recorded after it."
                )

    def _find(self, kind: FindingKind, place: Place, name: EventId | None, sentence: str) -> None:
        text = None if name is None else str(name)
        self.findings.append(Finding(kind, "damage", *place, text, sentence))


def _whole(payload: bytes, chains: Chains) -> Event | None:
    """The event of a frame with a wrong checksum, if its bytes are as recorded as far as can be told."""
    try:
        event = decode(payload)
    except EvidenceBroken:
        return None
    return event if chains.accepts(payload, event.meta) else None


def _truncated(key: StreamKey, chain: StreamChain) -> Finding:
    last = EventId(*key, chain.seq)
    sentence = f"the stream of agent {key[1]!r} in run {key[0]} ends with {last}: its process died before the end was recorded."
    return Finding(FindingKind.TRUNCATED, "warning", *chain.last, str(last), sentence)


def _id(meta: EventMeta) -> EventId:
    return EventId(meta.run_id, meta.agent_id, meta.incarnation, meta.seq)
