"""Effects that were executed more than once."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from tachograph.core.replay import FieldChange, field_changes
from tachograph.core.state._hits import FailureClass, SignatureHit
from tachograph.core.state._model import EffectRecord, RunState
from tachograph.schemas import EffectState

_HAPPENED = frozenset({EffectState.CONFIRMED, EffectState.RECONCILED})
_MAY_HAVE_HAPPENED = _HAPPENED | {EffectState.UNKNOWN, EffectState.EXECUTING}

_ATTEMPT = re.compile(r"\d{1,4}|[0-9a-fA-F]{12,}|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
"""What tells attempts apart inside an idempotency key: a small counter, a hexadecimal token, a UUID."""


def repeats(state: RunState) -> Iterator[SignatureHit]:
    """Effects executed again although they had happened, or may have."""
    by_name: defaultdict[str, list[EffectRecord]] = defaultdict(list)
    for effect in state.effects.values():
        if effect.state in _MAY_HAVE_HAPPENED and effect.arguments is not None:
            by_name[effect.name].append(effect)
    for effects in by_name.values():
        effects.sort(key=lambda effect: (effect.hlc, effect.effect_id))
        yield from _of_one_tool(effects)


def _of_one_tool(effects: list[EffectRecord]) -> Iterator[SignatureHit]:
    for index, later in enumerate(effects):
        earlier = [effect for effect in effects[:index] if _is_same(effect, later)]
        unsure = [effect for effect in earlier if _was_unknown_at(effect, later.hlc)]
        sure = [effect for effect in earlier if effect.state in _HAPPENED]
        if unsure:
            yield _retried(unsure[-1], later)
        elif sure and later.state in _HAPPENED:
            yield _doubled(sure[-1], later)


def _was_unknown_at(effect: EffectRecord, hlc: int) -> bool:
    """Whether nobody knew of it at this time; what turned out not to have happened is not among the effects here."""
    known_again = effect.decided_hlc or hlc + 1
    return 0 < effect.unknown_hlc < hlc < known_again


def _is_same(one: EffectRecord, other: EffectRecord) -> bool:
    """Whether both do the same: equal arguments, apart from what only tells attempts apart in their keys."""
    if one.arguments is None or other.arguments is None:
        return False
    if one.arguments.digest == other.arguments.digest:
        return True
    if one.idempotency_key is None or other.idempotency_key is None:
        return False
    if one.arguments.inline is None or other.arguments.inline is None:
        return False
    changes = field_changes(one.arguments.inline, other.arguments.inline)
    return all(_is_attempt(change, one.idempotency_key, other.idempotency_key) for change in changes)


def _is_attempt(change: FieldChange, key: str, other_key: str) -> bool:
    before, after = change.recorded.strip('"'), change.replayed.strip('"')
    if before == key and after == other_key:
        return True
    apart = _ATTEMPT.fullmatch(before) is not None and _ATTEMPT.fullmatch(after) is not None
    return apart and before in key and after in other_key


def _retried(unknown: EffectRecord, retry: EffectRecord) -> SignatureHit:
    return SignatureHit(
        "SIDE_EFFECT_UNKNOWN_RETRY_DUPLICATE",
        FailureClass.SIDE_EFFECT,
        retry.agent_id,
        (unknown.effect_id, retry.effect_id),
        f"{unknown.name} at {unknown.effect_id} was UNKNOWN, it may already have happened; {retry.agent_id!r} executed "
        f"the same again at {retry.effect_id}.",
    )


def _doubled(first: EffectRecord, second: EffectRecord) -> SignatureHit:
    return SignatureHit(
        "SIDE_EFFECT_DUPLICATE",
        FailureClass.SIDE_EFFECT,
        second.agent_id,
        (first.effect_id, second.effect_id),
        f"{first.name} at {first.effect_id} had happened; {second.agent_id!r} did the same again at {second.effect_id}.",
    )
