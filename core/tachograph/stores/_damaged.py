"""Telling of which event a damaged frame is, by what is missing and what its bytes resemble."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tachograph.core.causality import EventId
from tachograph.core.errors import InvalidIdentifier
from tachograph.schemas import CONTENT_OFFSET
from tachograph.stores._address import Unaddressed, address_of
from tachograph.stores._chain import Chains, Place, StreamKey
from tachograph.stores._findings import Finding, FindingKind

ADDRESS_BYTES_MAX = 1024
"""Within this much of a payload its ids stand: 200 characters each at most."""

_COMPARED_MAX = 1_000
"""Missing events that a damaged frame is compared with; the first few thousand bytes of damage are told exactly."""


class DamagedFrame(NamedTuple):
    """A frame whose event cannot be trusted."""

    head: bytes
    """The first ADDRESS_BYTES_MAX bytes of its payload."""
    place: Place
    damage: str
    kind: FindingKind


def name_damaged(frames: Sequence[DamagedFrame], chains: Chains) -> list[Finding]:
    """One finding for each damaged frame, with its event as far as it can be told."""
    candidates = dict.fromkeys(chains.missing()) if frames else {}
    findings: list[Finding] = []
    for frame in frames:
        name = _name(frame.head, list(candidates)[:_COMPARED_MAX])
        if name is not None:
            candidates.pop(((name.run_id, name.agent_id, name.incarnation), name.seq), None)
        who = "an event that cannot be told any more" if name is None else str(name)
        sentence = f"{who}: {frame.damage}."
        event_id = None if name is None else str(name)
        findings.append(Finding(frame.kind, "damage", *frame.place, event_id, sentence))
    return findings


def _name(head: bytes, candidates: Iterable[tuple[StreamKey, int]]) -> EventId | None:
    said = _said(head)
    best: tuple[int, EventId] | None = None
    for key, seq in candidates:
        name = EventId(*key, seq)
        likeness = _likeness(head, name, said)
        if likeness and (best is None or likeness > best[0]):
            best = likeness, name
    return said if best is None else best[1]


def _said(head: bytes) -> EventId | None:
    """The event that the bytes name, right or wrong."""
    try:
        address = address_of(head)
        name = EventId(address.run_id, address.agent_id, address.incarnation, address.seq)
        return EventId.parse(str(name))
    except (Unaddressed, InvalidIdentifier):
        return None


def _likeness(head: bytes, name: EventId, said: EventId | None) -> int:
    alike = 0 if said is None else 4 * sum(one == other for one, other in zip(name, said, strict=True))
    seq = _varint(name.seq)
    alike += 2 * (head[CONTENT_OFFSET : CONTENT_OFFSET + len(seq)] == seq)
    return alike + sum(part.encode() in head for part in (name.run_id, name.agent_id))


def _varint(value: int) -> bytes:
    value <<= 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
