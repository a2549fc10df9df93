"""Building an archived run's state at a cut on a snapshot: which one, what lies behind it, and the proof."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tachograph.core.causality import EventId
from tachograph.core.cut import (
    Causality,
    Cut,
    Stream,
    UnknownEvent,
    cut_at_event,
    cut_at_positions,
    cut_at_time,
    proof,
)
from tachograph.core.ports import Stored
from tachograph.core.state import Folding, empty
from tachograph.schemas import EventMeta, decode_meta
from tachograph.stores._cuts import FleetState
from tachograph.stores._tail import Tail, tail_of
from tachograph.stores.archive import ArchiveLog, Page, RunPages, SnapshotStore

_TRIED: Final = (0, 1, 2, 4, 8, 16)
"""Which of the snapshots before a cut are looked at, the newest being 0: each costs a request."""

_HELD_EVENTS_MAX: Final = 50_000
"""Of a tail, kept between choosing the cut and folding; a longer one is read twice."""


@dataclass(frozen=True, slots=True)
class Reading:
    """Reads one run."""

    archive: ArchiveLog
    snapshots: SnapshotStore
    pages: RunPages

    def at_time(self, hlc: int | None) -> FleetState | None:
        """Built on the newest snapshot in which no clock stands higher; None for the end."""
        for tail in self._tails(hlc):
            return self._built(tail, tail.until(hlc), _by_time(hlc))
        return None

    def at_event(self, event_id: EventId) -> FleetState | None:
        """Built on the newest snapshot that is all in the event's past."""
        page = self.pages.page_with((event_id.agent_id, event_id.incarnation), event_id.seq)
        if page is None or event_id.run_id != self.pages.run_id:
            raise UnknownEvent(event_id)
        for tail in self._tails(page.last_hlc):
            near = tail.until(page.last_hlc)
            if event_id.seq <= tail.positions.get(Stream(*event_id[:3]), 0):
                continue
            outline = tail.outline(near)
            reach = outline.past(event_id)
            if outline.holds_base(reach, self._dependants):
                wanted = tail.within(reach.positions, near)
                return self._built(tail, wanted, lambda known: cut_at_event(known, event_id))
        return None

    def at_positions(self, positions: Mapping[Stream, int]) -> FleetState | None:
        """Built on the newest snapshot that lies within them."""
        run_id = self.pages.run_id
        streams = {Stream(run_id, *key): found for key, found in self.pages.streams().items()}
        if not all(whole for _, whole in streams.values()):
            return None
        at = {(stream.agent_id, stream.incarnation): seq for stream, seq in positions.items()}
        newest = self.snapshots.newest(run_id, at)
        tail = None if newest is None else tail_of(self.pages, newest)
        tail = tail or self._from_the_first()
        ahead = {stream: last for stream, (last, _) in streams.items()}
        wanted = tail.within(positions, tail.pages)
        return self._built(tail, wanted, lambda known: cut_at_positions(known, positions), ahead)

    def _tails(self, hlc: int | None) -> Iterator[Tail]:
        """What lies behind the snapshots up to a time, the newest first, and last behind nothing at all."""
        stored = [one for one in self.snapshots.stored(self.pages.run_id) if hlc is None or one.hlc <= hlc]
        stored.reverse()
        for at in _TRIED:
            state = self.snapshots.load(stored[at]) if at < len(stored) else None
            tail = None if state is None else tail_of(self.pages, state)
            if tail is not None:
                yield tail
        yield self._from_the_first()

    def _from_the_first(self) -> Tail:
        return Tail(empty(self.pages.run_id), self.pages.pages, self.pages)

    def _dependants(self, event_id: EventId) -> Iterator[EventId]:
        for stream, seq in self.pages.dependants((event_id.agent_id, event_id.incarnation), event_id.seq):
            yield EventId(event_id.run_id, *stream, seq)

    def _built(
        self,
        tail: Tail,
        wanted: Sequence[Page],
        make: Callable[[Causality], Cut],
        ahead: Mapping[Stream, int] | None = None,
    ) -> FleetState | None:
        """None where a page that was not looked at holds some of it: a clock ran away, or pages do not tell the truth."""
        events = _Events(self.archive, sorted(wanted))
        causality = Causality(tail.positions, ahead)
        for meta, _ in events:
            causality.add(_event_id(meta), meta.hlc, _causes(meta))
        cut = make(causality)
        shown = proof(causality, cut)
        run_id = self.pages.run_id
        if any(cause.run_id == run_id and self._is_there(cause) for cause in shown.missing):
            return None
        folding = Folding(tail.base)
        for meta, stored in events:
            if cut.holds(_event_id(meta)):
                folding.add(stored.payload, over_gaps=True)
        if tail.base.gaps:
            return None
        return FleetState(cut, shown, tuple(causality.skews()), {run_id: tail.base})

    def _is_there(self, cause: EventId) -> bool:
        return self.pages.holds((cause.agent_id, cause.incarnation), cause.seq)


class _Events:
    """The events of pages, kept after they were read once where they are few."""

    def __init__(self, archive: ArchiveLog, pages: Sequence[Page]) -> None:
        self._archive = archive
        self._pages = pages
        self._held: list[tuple[EventMeta, Stored]] | None = None
        if sum(page.events for page in pages) <= _HELD_EVENTS_MAX:
            self._held = list(self._read())

    def __iter__(self) -> Iterator[tuple[EventMeta, Stored]]:
        return self._read() if self._held is None else iter(self._held)

    def _read(self) -> Iterator[tuple[EventMeta, Stored]]:
        stored = self._archive.read([page.part for page in self._pages])
        return ((decode_meta(one.payload), one) for one in stored)


def _by_time(hlc: int | None) -> Callable[[Causality], Cut]:
    if hlc is not None:
        return lambda known: cut_at_time(known, hlc)
    return lambda known: Cut({stream: known.last(stream) for stream in known.streams()})


def _event_id(meta: EventMeta) -> EventId:
    return EventId(meta.run_id, meta.agent_id, meta.incarnation, meta.seq)


def _causes(meta: EventMeta) -> tuple[EventId, ...]:
    return tuple(EventId(cause.run_id, cause.agent_id, cause.incarnation, cause.seq) for cause in meta.causes)
