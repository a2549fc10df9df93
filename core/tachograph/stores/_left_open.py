"""Effects that a process left open when it ended: their call may have come back although the ledger's event is lost."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from tachograph.core.causality import EventId
from tachograph.core.effects import transition
from tachograph.core.errors import EvidenceBroken
from tachograph.core.ports import Stored
from tachograph.schemas import CallFinished, EffectState, decode, schema_tag


class CameBack(NamedTuple):
    """Where a call's end leaves its effect."""

    effect_id: str
    state: EffectState
    hlc: int
    at_us: int


def came_back(effect_ids: Iterable[str], events: Iterable[Stored]) -> list[CameBack]:
    """Of effects that stand at EXECUTING, those whose call came back.

    Args:
        effect_ids: the effects.
        events: of their run.
    """
    wanted = {EventId.parse(effect_id): effect_id for effect_id in effect_ids}
    found: list[CameBack] = []
    for event in _finished(events):
        meta = event.meta
        effect_id = wanted.get(EventId(meta.run_id, meta.agent_id, meta.incarnation, event.call_id))
        if effect_id is not None:
            state = transition(EffectState.EXECUTING, event.outcome)
            found.append(CameBack(effect_id, state, meta.hlc, meta.recorded_at_us))
    return found


def _finished(events: Iterable[Stored]) -> Iterable[CallFinished]:
    for stored in events:
        try:
            event = decode(stored.payload) if schema_tag(stored.payload).startswith("CallFinished/") else None
        except EvidenceBroken:
            continue
        if isinstance(event, CallFinished):
            yield event
