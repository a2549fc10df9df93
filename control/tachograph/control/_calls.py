"""Which end belongs to which start of a call, and which calls of a stream overlap."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tachograph.schemas import (
    CallChunk,
    CallFinished,
    CallStarted,
    EffectTransitioned,
    Event,
    EventMeta,
    MessageReceived,
    TimerFired,
)

CallEnd = CallFinished | MessageReceived
_Key = tuple[str, int, int]


@dataclass(frozen=True, slots=True)
class Calls:
    """The calls of a run, by stream and call id."""

    starts: dict[_Key, CallStarted]
    ends: dict[_Key, CallEnd]
    overlapping: frozenset[_Key]

    def end_of(self, start: CallStarted) -> CallEnd | None:
        """How a call came back, if it did."""
        return self.ends.get(_key(start.meta, start.meta.seq))

    def start_of(self, end: CallEnd) -> CallStarted | None:
        """The call that came back here."""
        return self.starts.get(_key(end.meta, end.call_id))

    def overlaps(self, start: CallStarted) -> bool:
        """Whether the agent did something else before the call came back."""
        return _key(start.meta, start.meta.seq) in self.overlapping


def calls_of(events: Iterable[Event]) -> Calls:
    """Pair the calls of events that come in each stream's order."""
    starts: dict[_Key, CallStarted] = {}
    ends: dict[_Key, CallEnd] = {}
    overlapping: set[_Key] = set()
    latest: dict[tuple[str, int], int] = {}
    for event in events:
        if isinstance(event, CallChunk | EffectTransitioned | TimerFired):
            continue
        stream = event.meta.agent_id, event.meta.incarnation
        if isinstance(event, CallStarted):
            starts[_key(event.meta, event.meta.seq)] = event
        elif isinstance(event, CallFinished | MessageReceived):
            ends[_key(event.meta, event.call_id)] = event
            if latest.get(stream) != event.call_id:
                overlapping.add(_key(event.meta, event.call_id))
        latest[stream] = event.meta.seq
    return Calls(starts, ends, frozenset(overlapping))


def _key(meta: EventMeta, call_id: int) -> _Key:
    return meta.agent_id, meta.incarnation, call_id
