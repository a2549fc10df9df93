"""The events of a fork's units in one order: a cause before what it causes, else as the clock of the parent has them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tachograph.replay_workers._fork_draft import Draft
from tachograph.replay_workers._places import StreamKey
from tachograph.schemas import AgentStarted, Event, MessageReceived, RunStarted

Place = tuple[StreamKey, int]
"""(stream, seq)."""


@dataclass(slots=True)
class UnitEvents:
    """What a unit did."""

    start: RunStarted | AgentStarted
    """Its first event, as recorded."""
    started_at_us: int
    drafts: list[Draft]


@dataclass(slots=True)
class Entry:
    """An event on its way into the run."""

    unit: UnitEvents
    stream: StreamKey
    seq: int
    at_us: int
    """On the parent's clock."""
    draft: Draft | None
    """None: the unit's first event."""
    needs: list[Place] = field(default_factory=list[Place])
    """Events of the fork that cause it."""


def in_order(units: Sequence[UnitEvents], recorded: dict[Place, Event]) -> tuple[list[Entry], list[Entry]]:
    """Every event of the fork, and the receptions whose message the fork did not send, or sent only later.

    Args:
        units: what each unit did.
        recorded: the parent's events.
    """
    queues = [list(_entries(unit)) for unit in units]
    origins = _origins(queues)
    orphans = [entry for queue in queues for entry in queue if not _find_causes(entry, recorded, origins)]
    ordered, late = _merged(queues)
    return ordered, [*orphans, *late]


def _entries(unit: UnitEvents) -> Iterator[Entry]:
    meta = unit.start.meta
    own = (meta.agent_id, meta.incarnation)
    seqs: dict[StreamKey, int] = {own: 1}
    yield Entry(unit, own, 1, unit.started_at_us, None)
    for draft in unit.drafts:
        seq = seqs[draft.stream] = seqs.get(draft.stream, 0) + 1
        yield Entry(unit, draft.stream, seq, unit.started_at_us + int(draft.at * 1e6), draft)


def _origins(queues: list[list[Entry]]) -> dict[StreamKey, dict[int, int]]:
    """By stream: `seq` of a recorded event to that of the one that stands for it in the fork."""
    found: dict[StreamKey, dict[int, int]] = {}
    for queue in queues:
        for entry in queue:
            origin = 1 if entry.draft is None else entry.draft.origin
            if origin is not None:
                found.setdefault(entry.stream, {}).setdefault(origin, entry.seq)
    return found


def _find_causes(entry: Entry, recorded: dict[Place, Event], origins: dict[StreamKey, dict[int, int]]) -> bool:
    """Find the causes in other streams; False where a message has none."""
    if entry.draft is None:
        for cause in entry.unit.start.meta.causes:
            known = origins.get((cause.agent_id, cause.incarnation), {})
            seq = max((origin for origin in known if origin <= cause.seq), default=None)
            if seq is not None:
                entry.needs.append(((cause.agent_id, cause.incarnation), known[seq]))
        return True
    draft = entry.draft
    if draft.cause is not None:
        entry.needs += [draft.cause] if draft.cause[1] else []
        return True
    event = recorded.get((draft.stream, draft.source)) if draft.source is not None else None
    if not isinstance(event, MessageReceived) or draft.origin is None:
        return True
    for cause in event.meta.causes:
        stream = (cause.agent_id, cause.incarnation)
        seq = origins.get(stream, {}).get(cause.seq)
        if seq is None:
            return False
        entry.needs.append((stream, seq))
    return True


def _merged(queues: list[list[Entry]]) -> tuple[list[Entry], list[Entry]]:
    """The queues as one, and what had to come before its cause."""
    ordered: list[Entry] = []
    late: list[Entry] = []
    written: set[Place] = set()
    at = [0] * len(queues)
    while True:
        heads = [(queue[at[i]].at_us, i) for i, queue in enumerate(queues) if at[i] < len(queue)]
        if not heads:
            return ordered, late
        ready = [head for head in heads if written.issuperset(queues[head[1]][at[head[1]]].needs)]
        _, chosen = min(ready or heads)
        entry = queues[chosen][at[chosen]]
        if not ready:
            entry.needs = [need for need in entry.needs if need in written]
            late.append(entry)
        ordered.append(entry)
        written.add((entry.stream, entry.seq))
        at[chosen] += 1
