"""Findings of a folded run."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import suppress

from tachograph.core.causality import EventId, hlc_ms
from tachograph.core.effects import after_crash
from tachograph.core.errors import InvalidIdentifier
from tachograph.core.findings._kinds import EffectFinding, Finding, Position, RunFinding, SignatureFinding
from tachograph.core.findings._rows import EffectRow, RunRow, RunStatus
from tachograph.core.state import EffectRecord, RunState, SignatureHit, replayability, signatures
from tachograph.schemas import ROOT_AGENT_ID, EffectState, Fidelity

HITS_MAX = 1000
"""Hits of one run that are told one by one, the gravest first; the row names every signature all the same."""

MISSING_MAX = 500
"""Sentences in a row on what is missing; the rest is counted, so that a row fits into a record of Kafka."""

_PENDING = (EffectState.PLANNED, EffectState.EXECUTING)


def row_of(
    state: RunState,
    *,
    over: bool,
    effects: int,
    unknown_effects: int,
    broken: str | None = None,
    hits: tuple[SignatureHit, ...] | None = None,
) -> RunRow:
    """A run's row.

    Args:
        state: the folded run.
        over: whether no more events can come.
        effects: how many effects the ledger knows of it.
        unknown_effects: how many of them are UNKNOWN.
        broken: why the rest of the run cannot be read, where it cannot.
        hits: its signatures, where they are known already.
    """
    ended = RunStatus.TRUNCATED if over else RunStatus.RUNNING
    status = RunStatus.FINISHED if state.status == "FINISHED" else ended
    grade = replayability(state)
    found = signatures(state, over=status is not RunStatus.RUNNING) if hits is None else hits
    unread = () if broken is None else (f"The rest cannot be read: {broken}",)
    return RunRow(
        run_id=state.run_id,
        tenant=state.tenant,
        name=state.name,
        status=status,
        outcome=None if state.outcome is None else state.outcome.value,
        started_at_us=hlc_ms(state.first_hlc) * 1000 if state.started_at_us is None else state.started_at_us,
        finished_at_us=state.finished_at_us,
        agents=len({agent.agent_id for agent in state.agents.values() if agent.acts} - {ROOT_AGENT_ID}),
        events=state.events,
        fidelity=(Fidelity.TRUNCATED if unread else grade.grade).value,
        missing=(*_named(grade.missing), *unread),
        effects=effects,
        unknown_effects=unknown_effects,
        signatures=tuple(sorted({hit.name for hit in found})),
        parent_run_id=state.parent_run_id,
        entrypoint=state.entrypoint,
        linked=_linked(state),
    )


def _linked(state: RunState) -> tuple[str, ...]:
    runs = {effect_id.partition("/")[0] for effect_id in state.effects}
    return tuple(sorted(runs - {state.run_id}))


def _named(missing: tuple[str, ...]) -> tuple[str, ...]:
    if len(missing) <= MISSING_MAX:
        return missing
    return (*missing[:MISSING_MAX], f"{len(missing) - MISSING_MAX} more are missing.")


def findings_of(state: RunState, *, over: bool, effects: Collection[str] | None = None) -> Iterator[Finding]:
    """What a folded run shows: its effects, its signatures and, last, its row.

    Args:
        state: the folded run.
        over: whether no more events are expected; a run that has finished is over in any case.
        effects: ids of those to tell; by default all. Those whose meaning depends on `over` are told in any case.
    """
    ended = over or state.status == "FINISHED"
    position = Position(state.events, state.hlc, ended)
    count = unknown = 0
    for record, effect in _told_of(state):
        where = after_crash(record.state) if ended else record.state
        if effect.run_id == state.run_id:
            count += 1
            unknown += where is EffectState.UNKNOWN
        if effects is None or record.effect_id in effects or record.state in _PENDING:
            yield EffectFinding(_effect_row(state, record, effect, where), record.stamp, position)
    hits = signatures(state, over=ended)
    for number, hit in enumerate(hits[:HITS_MAX]):
        yield SignatureFinding(state.run_id, state.tenant, number, hit, position)
    row = row_of(state, over=ended, effects=count, unknown_effects=unknown, hits=hits)
    yield RunFinding(row, position, state.first_hlc)


def _told_of(state: RunState) -> Iterator[tuple[EffectRecord, EventId]]:
    """The effects that the ledger has moved; the others are no more than planned."""
    for record in state.effects.values():
        if record.by is not None:
            with suppress(InvalidIdentifier):
                yield record, EventId.parse(record.effect_id)


def _effect_row(state: RunState, record: EffectRecord, effect: EventId, where: EffectState) -> EffectRow:
    return EffectRow(
        effect_id=record.effect_id,
        run_id=effect.run_id,
        agent_id=effect.agent_id,
        tenant=state.tenant,
        name=record.name,
        idempotency_key=record.idempotency_key,
        state=where,
        at_us=record.at_us,
        reason=record.reason,
        by=record.by or "",
    )
