"""A run's row, folded from its events."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import orjson

from tachograph.core.errors import EvidenceBroken, StoreUnavailable
from tachograph.core.findings import RunRow, RunStatus
from tachograph.core.findings import row_of as core_row_of
from tachograph.core.ports import Stored
from tachograph.core.state import Folding, RunState, empty
from tachograph.schemas import ROOT_AGENT_ID


@dataclass(slots=True)
class FoldedRun:
    """A run's state, and what the state does not say."""

    state: RunState
    root_spool: str | None = None
    """Where the root's stream lies."""
    broken: str | None = None
    """Why the rest of the run cannot be read, where it cannot."""


def fold_run(run_id: str, events: Iterator[Stored]) -> FoldedRun:
    """Fold a run's events, as far as they can be read."""
    folded = FoldedRun(empty(run_id))
    folding = Folding(folded.state)
    try:
        for stored in events:
            _add(folded, folding, stored)
    except (EvidenceBroken, StoreUnavailable) as error:
        folded.broken = str(error)
    return folded


def _add(folded: FoldedRun, folding: Folding, stored: Stored) -> None:
    streams = len(folded.state.agents)
    folding.add(stored.payload, over_gaps=True)
    if folded.root_spool is None and len(folded.state.agents) > streams:
        *_, (agent_id, _) = folded.state.agents
        folded.root_spool = stored.segment.partition("/")[0] if agent_id == ROOT_AGENT_ID else None


def row_of(folded: FoldedRun, *, alive: bool, first_hlc: int, effects: int, unknown_effects: int) -> RunRow:
    """The catalogue's row.

    Args:
        folded: the run.
        alive: whether the process that records its root still lives.
        first_hlc: of the run's first event, whether or not it can be read.
        effects: how many effects the ledger knows of it.
        unknown_effects: how many of them are UNKNOWN.
    """
    state = folded.state
    state.first_hlc = min(state.first_hlc or first_hlc, first_hlc)
    return core_row_of(state, over=not alive, effects=effects, unknown_effects=unknown_effects, broken=folded.broken)


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
        "linked": tuple(fields.get("linked", ())),
    }
    return RunRow(**fields)
