"""Effects while a run is folded."""

from __future__ import annotations

from tachograph.core.causality import EventId
from tachograph.core.effects import transition
from tachograph.core.state._model import EffectRecord, RunState, Stamp
from tachograph.schemas import CallFinished, CallStarted, EffectState, EffectTransitioned, EventMeta, ToolRequest

_DECIDED = (EffectState.RECONCILED, EffectState.FAILED)


def called(state: RunState, event: CallStarted, told_us: int | None) -> None:
    """An effect is planned; `told_us` is the time that its agent was told last."""
    meta = event.meta
    record = _record(state, _effect_id(meta, meta.seq))
    record.agent_id = meta.agent_id
    record.incarnation = meta.incarnation
    record.seq = meta.seq
    record.hlc = meta.hlc
    record.name = event.name
    record.idempotency_key = event.idempotency_key
    record.arguments = event.arguments
    record.attempt = event.attempt
    if isinstance(event.details, ToolRequest):
        record.permission = event.details.permission
    record.started_us = meta.recorded_at_us if told_us is None else told_us


def came_back(state: RunState, event: CallFinished) -> None:
    """An effect's call came back: that alone says where it stands, should the ledger's own event be lost."""
    meta = event.meta
    record = _record(state, _effect_id(meta, event.call_id))
    before = EffectState.EXECUTING if record.left else EffectState.PLANNED
    after = transition(before, event.outcome)
    if after is EffectState.UNKNOWN:
        record.unknown_hlc = max(record.unknown_hlc, meta.hlc)
    if event.receipt is not None:
        record.receipt = event.receipt.digest
    _move(record, after, meta)


def moved(state: RunState, event: EffectTransitioned) -> None:
    """The ledger moved an effect; of two moves the later one counts, in whichever order they are folded."""
    meta = event.meta
    record = _record(state, event.effect_id)
    record.name = record.name or event.name
    record.idempotency_key = record.idempotency_key or event.idempotency_key
    if event.to_state is EffectState.EXECUTING:
        record.left = True
    elif event.to_state is EffectState.UNKNOWN:
        record.unknown_hlc = max(record.unknown_hlc, meta.hlc)
    elif event.from_state is EffectState.UNKNOWN and event.to_state in _DECIDED:
        record.decided_hlc = max(record.decided_hlc, meta.hlc)
    if event.receipt is not None:
        record.receipt = event.receipt.digest
    if _move(record, event.to_state, meta):
        record.reason = event.reason
        record.by = event.by


def _move(record: EffectRecord, to: EffectState, meta: EventMeta) -> bool:
    stamp: Stamp = (meta.hlc, meta.agent_id, meta.incarnation, meta.seq)
    if stamp < record.stamp:
        return False
    record.state = to
    record.stamp = stamp
    record.at_us = meta.recorded_at_us
    return True


def _record(state: RunState, effect_id: str) -> EffectRecord:
    record = state.effects.get(effect_id)
    if record is None:
        record = state.effects[effect_id] = EffectRecord(effect_id)
    return record


def _effect_id(meta: EventMeta, seq: int) -> str:
    return str(EventId(meta.run_id, meta.agent_id, meta.incarnation, seq))
