"""Rules over what stood behind calls: approvals, versions of tools, versions of indexes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import cast

import orjson

from tachograph.core.state._gates import Approval
from tachograph.core.state._hits import FailureClass, SignatureHit
from tachograph.core.state._model import EffectRecord, RunState

_EPOCH = datetime.fromtimestamp(0, UTC)


def gates(state: RunState) -> Iterator[SignatureHit]:
    """Effects that were executed without the approval that they need."""
    for effect in state.effects.values():
        if effect.left and effect.permission is not None:
            before = [one for one in state.approvals.get(effect.permission, ()) if one.hlc < effect.hlc]
            hit = _judged(effect, before[-1]) if before else _unapproved(state, effect)
            if hit is not None:
                yield hit


def drifts(state: RunState) -> Iterator[SignatureHit]:
    """Tools that changed their version within a run."""
    for name, versions in state.tool_versions.items():
        if len(versions) > 1:
            uses = sorted((*use, version) for version, use in versions.items())
            yield SignatureHit(
                "SCHEMA_DRIFT",
                FailureClass.DATA,
                _agent_of(uses[1][1]),
                tuple(event_id for _, event_id, _ in uses),
                f"{name} was called in version {uses[0][2]!r} and then in {uses[1][2]!r}: what was built on the first "
                f"may not fit the second.",
            )


def withdrawn(state: RunState) -> Iterator[SignatureHit]:
    """Retrievals from another version of an index than the run's input snapshot names."""
    for index, wanted in _snapshot(state).items():
        for version, (_, event_id) in state.index_versions.get(index, {}).items():
            if version != wanted:
                yield SignatureHit(
                    "RETRIEVAL_FROM_WITHDRAWN_INDEX",
                    FailureClass.RETRIEVAL,
                    _agent_of(event_id),
                    (event_id,),
                    f"{event_id} read version {version!r} of index {index!r}; the run was started on {wanted!r}.",
                )


def _judged(effect: EffectRecord, approval: Approval) -> SignatureHit | None:
    found_by = (approval.event_id, effect.effect_id)
    if not approval.granted:
        return SignatureHit(
            "APPROVAL_DENIED",
            FailureClass.AUTHORITY,
            effect.agent_id,
            found_by,
            f"{effect.name} at {effect.effect_id} was executed although its approval was refused at {approval.event_id}.",
        )
    if approval.expires_at_us is not None and approval.expires_at_us <= effect.started_us:
        expiry = _moment(approval.expires_at_us)
        return SignatureHit(
            "APPROVAL_EXPIRED",
            FailureClass.APPROVAL,
            effect.agent_id,
            found_by,
            f"{effect.name} at {effect.effect_id} was executed on an approval that had expired at {expiry}.",
        )
    return None


def _moment(at_us: int) -> str:
    """A time that somebody gave, as a date where there is such a date."""
    try:
        return (_EPOCH + timedelta(microseconds=at_us)).isoformat(" ", "seconds")
    except OverflowError:
        return f"{at_us} microseconds since 1970"


def _unapproved(state: RunState, effect: EffectRecord) -> SignatureHit:
    others = [one for kept in state.approvals.values() for one in kept if one.granted and one.hlc < effect.hlc]
    if not others:
        return SignatureHit(
            "APPROVAL_MISSING",
            FailureClass.AUTHORITY,
            effect.agent_id,
            (effect.effect_id,),
            f"{effect.name} at {effect.effect_id} needs an approval, and was executed without any.",
        )
    last = max(others)
    return SignatureHit(
        "APPROVAL_FOR_ANOTHER_ACTION",
        FailureClass.APPROVAL,
        effect.agent_id,
        (last.event_id, effect.effect_id),
        f"{effect.name} at {effect.effect_id} was executed; what was approved, last at {last.event_id}, was something else.",
    )


def _snapshot(state: RunState) -> Mapping[str, str]:
    """Index to version, as the input snapshot's `knowledge_snapshot` has it; empty where it is something else."""
    if state.inputs is None or state.inputs.inline is None or not state.index_versions:
        return {}
    try:
        inputs: object = orjson.loads(state.inputs.inline)
    except orjson.JSONDecodeError:
        return {}
    found: object = cast("dict[str, object]", inputs).get("knowledge_snapshot") if isinstance(inputs, dict) else None
    if not isinstance(found, dict):
        return {}
    entries = cast("dict[str, object]", found).items()
    return {index: version for index, version in entries if isinstance(version, str)}


def _agent_of(event_id: str) -> str:
    return event_id.partition("/")[2].rpartition("#")[0]
