"""A run's row, folded from its events."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import orjson

from tachograph.core.causality import hlc_ms
from tachograph.core.errors import EvidenceBroken, StoreUnavailable
from tachograph.core.ports import Stored
from tachograph.core.state import RunState, empty, fold, replayability, signatures
from tachograph.schemas import ROOT_AGENT_ID, Fidelity, UnsupportedSchema, decode, is_optional
from tachograph.stores._rows import RunRow, RunStatus


@dataclass(slots=True)
class FoldedRun:
    """A run's state, and what the state does not say."""

    state: RunState
    root_spool: str | None = None
    """Where the root's stream lies."""
    skipped: int = 0
    """Optional events of newer releases."""
    broken: str | None = None
    """Why the rest of the run cannot be read, where it cannot."""


def fold_run(run_id: str, events: Iterator[Stored]) -> FoldedRun:
    """Fold a run's events, as far as they can be read."""
    folded = FoldedRun(empty(run_id))
    try:
        for stored in events:
            _add(folded, stored)
    except (EvidenceBroken, StoreUnavailable) as error:
        folded.broken = str(error)
    return folded


def _add(folded: FoldedRun, stored: Stored) -> None:
    try:
        event = decode(stored.payload)
    except UnsupportedSchema:
        if not is_optional(stored.payload):
            raise
        folded.skipped += 1
        return
    if folded.root_spool is None and event.meta.agent_id == ROOT_AGENT_ID:
        folded.root_spool = stored.segment.partition("/")[0]
    folded.state.tenant = folded.state.tenant or event.meta.tenant
    fold(folded.state, event)


def row_of(folded: FoldedRun, *, alive: bool, first_hlc: int, effects: int, unknown_effects: int) -> RunRow:
    """The catalogue's row.

    Args:
        folded: the run.
        alive: whether the process that records its root still lives.
        first_hlc: of the run's first event.
        effects: how many effects the ledger knows of it.
        unknown_effects: how many of them are UNKNOWN.
    """
    state = folded.state
    ended = RunStatus.RUNNING if alive else RunStatus.TRUNCATED
    status = RunStatus.FINISHED if state.status == "FINISHED" else ended
    grade = replayability(state)
    hits = signatures(state, over=status is not RunStatus.RUNNING)
    broken = () if folded.broken is None else (f"The rest cannot be read: {folded.broken}",)
    return RunRow(
        run_id=state.run_id,
        tenant=state.tenant,
        name=state.name,
        status=status,
        outcome=None if state.outcome is None else state.outcome.value,
        started_at_us=hlc_ms(first_hlc) * 1000 if state.started_at_us is None else state.started_at_us,
        finished_at_us=state.finished_at_us,
        agents=len({agent.agent_id for agent in state.agents.values() if agent.acts} - {ROOT_AGENT_ID}),
        events=state.events + folded.skipped,
        fidelity=(Fidelity.TRUNCATED if broken else grade.grade).value,
        missing=(*grade.missing, *broken),
        effects=effects,
        unknown_effects=unknown_effects,
        signatures=tuple(sorted({hit.name for hit in hits})),
        parent_run_id=state.parent_run_id,
        entrypoint=state.entrypoint,
    )


def row_bytes(row: RunRow) -> bytes:
    """A row as it is kept; equal rows give equal bytes."""
    return orjson.dumps(row, option=orjson.OPT_SORT_KEYS)


def row_from_bytes(data: bytes) -> RunRow:
    """The inverse of `row_bytes`."""
    fields = orjson.loads(data)
    fields |= {
        "status": RunStatus(fields["status"]),
        "missing": tuple(fields["missing"]),
        "signatures": tuple(fields["signatures"]),
    }
    return RunRow(**fields)
