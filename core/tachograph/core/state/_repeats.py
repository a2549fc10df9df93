"""Effects that were executed more than once."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from tachograph.core.state._hits import FailureClass, SignatureHit
from tachograph.core.state._model import EffectRecord, RunState
from tachograph.schemas import EffectState

_HAPPENED = frozenset({EffectState.CONFIRMED, EffectState.RECONCILED})
_MAY_HAVE_HAPPENED = _HAPPENED | {EffectState.UNKNOWN, EffectState.EXECUTING}

_TOKEN = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|[0-9a-fA-F]{12,}")
"""A UUID, a hexadecimal token."""

_NAMED = re.compile(
    rb'"(?:idempotency_key|attempt|attempt_id|attempt_number|retry|request_id|nonce)":(?:"[^"]*"|[0-9]+)'
)
"""An argument that by its name only tells attempts apart."""

_COUNTER = re.compile(r"(?P<word>try|attempt)?[^0-9a-zA-Z]{0,2}(?<![0-9])(?P<number>[0-9]{1,2})$", re.IGNORECASE)
"""Or a small counter at its end, behind something else."""

_APART = b"\0"
"""In place of what tells attempts apart; in no canonical body."""

_LEAF = rb"(?<=[:,\[])%b(?=[,\]}])"
"""A whole number or text in a canonical body."""

_BESIDE_TOKEN = 3
"""Two more arguments, and the comma between `args` and `kwargs`."""

_BESIDE_COUNTER = 2
"""One more argument, and that comma."""

_PLACES_MAX = 8
"""Arguments that equal the counter: more are not looked at."""

_REMEMBERED_MAX = 64
"""Earlier effects of the same essence that a later one is held against."""


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
    before: defaultdict[bytes, list[EffectRecord]] = defaultdict(list)
    for later in effects:
        same, retries = _essence(later), _retry_essences(later)
        unsure = [effect for key in (same, *retries) for effect in before[key] if _was_unknown_at(effect, later.hlc)]
        sure = [effect for effect in before[same] if effect.state in _HAPPENED]
        if unsure:
            yield _retried(max(unsure, key=lambda effect: effect.hlc), later)
        elif sure and later.state in _HAPPENED:
            yield _doubled(sure[-1], later)
        for key in (same, *retries):
            _remember(before[key], later)


def _remember(known: list[EffectRecord], effect: EffectRecord) -> None:
    """Keep what a later effect is held against: everything unsure, and the latest of what happened."""
    if effect.unknown_hlc == 0:
        known[:] = [earlier for earlier in known if earlier.unknown_hlc]
    known.append(effect)
    del known[:-_REMEMBERED_MAX]


def _was_unknown_at(effect: EffectRecord, hlc: int) -> bool:
    """Whether nobody knew of it at this time; what turned out not to have happened is not among the effects here."""
    known_again = effect.decided_hlc or hlc + 1
    return 0 < effect.unknown_hlc < hlc < known_again


def _essence(effect: EffectRecord) -> bytes:
    """What an effect does: its arguments, apart from those that by their names only tell attempts apart."""
    arguments = effect.arguments
    if arguments is None:
        return b""
    if arguments.inline is None or effect.idempotency_key is None:
        return arguments.digest
    plain = _NAMED.sub(_APART, arguments.inline)
    return plain if plain != arguments.inline else arguments.digest


def _retry_essences(effect: EffectRecord) -> tuple[bytes, ...]:
    """What it does apart from a counter of attempts, for each argument that may be one: only after UNKNOWN is this told.

    A number or a token in a key may as well be what the effect is about: where no word says that attempts are counted, it
    must stand among other arguments, and after UNKNOWN a warning too many is better than one too few.
    """
    key = effect.idempotency_key or ""
    inline = effect.arguments.inline if effect.arguments is not None else None
    if inline is None:
        return ()
    leaves, others = _attempt_leaves(key)
    places = [at for leaf in leaves for at in re.finditer(_LEAF % re.escape(leaf.encode()), inline)]
    if not places or inline.count(b",") < others:
        return ()
    return tuple(inline[: at.start()] + _APART + inline[at.end() :] for at in places[:_PLACES_MAX])


def _attempt_leaves(key: str) -> tuple[list[str], int]:
    """What in the arguments may only tell attempts apart, as JSON, and how many commas must be there beside it."""
    if _TOKEN.fullmatch(key):
        return [f'"{key}"'], _BESIDE_TOKEN
    counter = _COUNTER.search(key)
    if counter is None or (counter.start() == 0 and counter["word"] is None):
        return [], 0
    number = counter["number"]
    if counter["word"]:
        return [number, f'"{number}"', f'"{key}"'], 0
    return ([number], _BESIDE_COUNTER) if len(number) == 1 else ([], 0)


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
