"""A run's events, sorted into its streams."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Never, cast

from tachograph.core.replay._picked import PickedEnd, PickedStart
from tachograph.schemas import (
    AgentFinished,
    AgentStarted,
    ArtifactWritten,
    CallChunk,
    CallFinished,
    CallStarted,
    Checkpointed,
    Event,
    MessageReceived,
    MessageSent,
    RunFinished,
    StateChanged,
)

Key = tuple[str, int]
"""A stream: (agent_id, incarnation)."""

Beginning = (
    CallStarted
    | MessageSent
    | StateChanged
    | Checkpointed
    | ArtifactWritten
    | AgentStarted
    | AgentFinished
    | RunFinished
)
"""An event that begins a step; AgentStarted in the stream of the parent."""


@dataclass(slots=True)
class Draft:
    """A stream while it is read."""

    run_id: str
    agent_id: str
    incarnation: int
    last_seq: int = 0
    ended: bool = False
    started: AgentStarted | None = None
    begun: list[Beginning | PickedStart] = field(default_factory=list["Beginning | PickedStart"])
    hlcs: list[int] = field(default_factory=list[int])
    times: list[int] = field(default_factory=list[int])
    """When its events were recorded."""
    opened: list[tuple[int, AgentStarted]] = field(default_factory=list[tuple[int, AgentStarted]])
    """(seq of this stream's event behind which it was opened, the child's first event)."""
    finished: dict[int, CallFinished | MessageReceived | PickedEnd] = field(
        default_factory=dict[int, "CallFinished | MessageReceived | PickedEnd"]
    )
    chunks: dict[int, list[CallChunk]] = field(default_factory=dict[int, list[CallChunk]])

    def event_id(self, seq: int) -> str:
        """The id of one of its events."""
        return f"{self.run_id}/{self.agent_id}#{self.incarnation}.{seq}"

    def places(self) -> list[tuple[int, int, int, Beginning | PickedStart]]:
        """Its steps' beginnings in order, as (seq, whether it is a child's, hlc, event)."""
        places: list[tuple[int, int, int, Beginning | PickedStart]] = [
            (one[0], 0, one[1], one) if isinstance(one, tuple) else (one.meta.seq, 0, one.meta.hlc, one)
            for one in self.begun
        ]
        if self.opened:
            places += [(seq, 1, child.meta.hlc, child) for seq, child in self.opened]
            places.sort(key=lambda place: place[:3])
        return places

    def parent(self) -> Key | None:
        """The stream that opened it."""
        child = self.started
        if child is None or child.parent_agent_id is None:
            return None
        for cause in child.meta.causes:
            if cause.agent_id == child.parent_agent_id:
                return cause.agent_id, cause.incarnation
        return child.parent_agent_id, 1


def drafts_of(events: Iterable[Event]) -> dict[Key, Draft]:
    """The streams of a run; children stand in their parents."""
    drafts: dict[Key, Draft] = {}
    for event in events:
        take_event(drafts, event)
    place_children(drafts)
    return drafts


def take_event(drafts: dict[Key, Draft], event: Event) -> None:
    """Put an event into its stream, unless that has it already."""
    meta = event.meta
    key = (meta.agent_id, meta.incarnation)
    draft = drafts.get(key)
    if draft is None:
        draft = drafts[key] = Draft(meta.run_id, meta.agent_id, meta.incarnation)
    if meta.seq <= draft.last_seq:
        return
    draft.last_seq = meta.seq
    draft.hlcs.append(meta.hlc)
    draft.times.append(meta.recorded_at_us)
    note = _NOTES.get(type(event))
    if note is not None:
        note(draft, cast("Never", event))


def is_joined(started: AgentStarted) -> bool:
    """Whether an agent is a process of its own, which no step of its parent opens."""
    return started.entrypoint is not None or started.arguments is not None


def _begins(draft: Draft, event: Beginning) -> None:
    draft.begun.append(event)


def _ends(draft: Draft, event: AgentFinished | RunFinished) -> None:
    draft.begun.append(event)
    draft.ended = True


def _finishes(draft: Draft, event: CallFinished | MessageReceived) -> None:
    draft.finished[event.call_id] = event


def _adds(draft: Draft, event: CallChunk) -> None:
    draft.chunks.setdefault(event.call_id, []).append(event)


def _starts(draft: Draft, event: AgentStarted) -> None:
    draft.started = event


_NOTES: dict[type[Event], Callable[[Draft, Never], None]] = {
    CallStarted: _begins,
    MessageSent: _begins,
    StateChanged: _begins,
    Checkpointed: _begins,
    ArtifactWritten: _begins,
    AgentFinished: _ends,
    RunFinished: _ends,
    CallFinished: _finishes,
    MessageReceived: _finishes,
    CallChunk: _adds,
    AgentStarted: _starts,
}


def place_children(drafts: dict[Key, Draft]) -> None:
    """Put what opens a child into its parent's stream; once all events are there."""
    for draft in drafts.values():
        child = draft.started
        if child is None or is_joined(child):
            continue
        place = _place(child, drafts)
        if place is not None:
            parent, seq = place
            drafts[parent].opened.append((seq, child))


def _place(child: AgentStarted, drafts: dict[Key, Draft]) -> tuple[Key, int] | None:
    """The parent's stream and the `seq` of its event behind which it opened the child."""
    for cause in child.meta.causes:
        key = (cause.agent_id, cause.incarnation)
        if cause.agent_id == child.parent_agent_id and key in drafts:
            return key, cause.seq
    lives = [key for key in drafts if key[0] == child.parent_agent_id]
    if not lives:
        return None
    key = max(lives, key=lambda life: (drafts[life].hlcs[0] <= child.meta.hlc, life[1]))
    return key, bisect_left(drafts[key].hlcs, child.meta.hlc)
