"""Checking that the application state which a run's events add up to is the one that its end states."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from tachograph.core.causality import EventId
from tachograph.core.state import StreamValues, values_digest
from tachograph.schemas import Event, RunFinished, StateChanged
from tachograph.stores._chain import Place, StreamChain, StreamKey
from tachograph.stores._findings import Finding, FindingKind

STATING = frozenset({StateChanged, RunFinished})
"""The types of events that say anything of state."""


class _End(NamedTuple):
    event: EventId
    closed: tuple[EventId, ...]
    """The last event of each stream that it closes, itself among them."""
    digest: bytes
    place: Place


@dataclass(slots=True)
class StateNotes:
    """What events say of application state."""

    changes: dict[StreamKey, dict[int, tuple[str, bytes]]] = field(
        default_factory=dict[StreamKey, dict[int, tuple[str, bytes]]]
    )
    """Key and digest of the value by `seq`."""
    ends: list[_End] = field(default_factory=list[_End])

    def take(self, event: Event, place: Place) -> None:
        """Note an event, if it says anything of state."""
        meta = event.meta
        if type(event) is StateChanged:
            stream = self.changes.setdefault((meta.run_id, meta.agent_id, meta.incarnation), {})
            stream.setdefault(meta.seq, (event.key, event.value.digest))
        elif type(event) is RunFinished and event.state_digest is not None:
            event_id = EventId(meta.run_id, meta.agent_id, meta.incarnation, meta.seq)
            closed = (EventId(cause.run_id, cause.agent_id, cause.incarnation, cause.seq) for cause in meta.causes)
            self.ends.append(_End(event_id, (event_id, *closed), event.state_digest, place))

    def join(self, other: StateNotes) -> None:
        """Take in what was noted elsewhere."""
        for key, changes in other.changes.items():
            self.changes.setdefault(key, {}).update(changes)
        self.ends += other.ends

    def findings(self, streams: Mapping[StreamKey, StreamChain], damaged: Container[str]) -> Iterator[Finding]:
        """The ends that state something else.

        Args:
            streams: what was seen of each stream.
            damaged: runs in which something is wrong already: what they add up to proves nothing more.
        """
        for end in self.ends:
            if end.event.run_id in damaged or not all(_is_seen(cut, streams) for cut in end.closed):
                continue
            if values_digest(map(self._values, end.closed)) != end.digest:
                sentence = f"the state that the events up to {end.event} add up to is not the one that it states."
                yield Finding(FindingKind.STATE, "damage", *end.place, str(end.event), sentence)

    def _values(self, cut: EventId) -> StreamValues:
        """What a stream's events up to one of them have set."""
        changes = self.changes.get((cut.run_id, cut.agent_id, cut.incarnation), {})
        return cut.agent_id, cut.incarnation, dict(changes[seq] for seq in sorted(changes) if seq <= cut.seq)


def _is_seen(cut: EventId, streams: Mapping[StreamKey, StreamChain]) -> bool:
    chain = streams.get((cut.run_id, cut.agent_id, cut.incarnation))
    return chain is not None and chain.seq >= cut.seq
