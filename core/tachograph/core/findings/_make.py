"""Findings of a folded run."""

from __future__ import annotations

from collections.abc import Iterator

from tachograph.core.causality import EventId, hlc_ms
from tachograph.core.effects import after_crash
from tachograph.core.errors import InvalidIdentifier
from tachograph.core.findings._kinds import EffectFinding, Finding, Position, RunFinding, SignatureFinding
from tachograph.core.findings._rows import EffectRow, RunRow, RunStatus
from tachograph.core.state import EffectRecord, RunState, SignatureHit, replayability, signatures
from tachograph.schemas import ROOT_AGENT_ID, EffectState, Fidelity

HITS_MAX = 1000
"""Hits of one run that are told one by one, the gravest first; the row names every signature all the same."""


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
        missing=(*grade.missing, *unread),
        effects=effects,
        unknown_effects=unknown_effects,
        signatures=tuple(sorted({hit.name for hit in found})),
        parent_run_id=state.parent_run_id,
        entrypoint=state.entrypoint,
    )


def findings_of(state: RunState, *, over: bool) -> Iterator[Finding]:
    """What a folded run shows: its effects, its signatures and, last, its row.

    Args:
        state: the folded run.
        over: whether no more events are expected; a run that has finished is over in any case.
    """
    ended = over or state.status == "FINISHED"
    position = Position(state.events, state.hlc, ended)
    effects = list(_effects(state, over=ended))
    yield from effects
    hits = signatures(state, over=ended)
    for hit in hits[:HITS_MAX]:
        yield SignatureFinding(state.run_id, state.tenant, hit, position)
    own = [effect.row for effect in effects if effect.row.run_id == state.run_id]
    unknown = sum(row.state is EffectState.UNKNOWN for row in own)
    row = row_of(state, over=ended, effects=len(own), unknown_effects=unknown, hits=hits)
    yield RunFinding(row, position, state.first_hlc)


def _effects(state: RunState, *, over: bool) -> Iterator[EffectFinding]:
    for record in state.effects.values():
        if record.by is None:
            continue  # the ledger has not moved it: it is no more than planned
        try:
            effect = EventId.parse(record.effect_id)
        except InvalidIdentifier:
            continue
        yield EffectFinding(_effect_row(state, record, effect, over=over), record.stamp, over)


def _effect_row(state: RunState, record: EffectRecord, effect: EventId, *, over: bool) -> EffectRow:
    return EffectRow(
        effect_id=record.effect_id,
        run_id=effect.run_id,
        agent_id=effect.agent_id,
        tenant=state.tenant,
        name=record.name,
        idempotency_key=record.idempotency_key,
        state=after_crash(record.state) if over else record.state,
        at_us=record.at_us,
        reason=record.reason,
        by=record.by or "",
    )
