"""The state of an archived run at a time, from the nearest snapshot and what came behind it."""

from __future__ import annotations

from tachograph.core.causality import EventId
from tachograph.core.cut import Causality, Cut, Stream, cut_at_time, proof
from tachograph.core.errors import UnknownRun
from tachograph.core.ports import Stored
from tachograph.core.state import Folding, RunState
from tachograph.schemas import decode_meta
from tachograph.stores._cuts import FleetState
from tachograph.stores._home import Home


def state_from_snapshot(home: Home, run_id: str, hlc: int | None) -> FleetState | None:
    """What `state_at` gives for one run at a time, at a cost that does not grow with the run.

    Args:
        home: whose archive holds the run.
        run_id: of the run.
        hlc: the time; None: the end.

    Returns:
        None where there is no snapshot to build on, where events came so late that it does not hold all up to its own
        time, or where this machine has recorded some of the run itself: then the run is to be read from its beginning.

    Raises:
        CorruptFrame, StoreUnavailable: the archive cannot be read.
    """
    if home.archive is None or home.snapshots is None or _is_local(home, run_id):
        return None
    home.archive.refresh()
    state = home.snapshots.newest_before(run_id, hlc)
    if state is None or state.gaps:
        return None
    tail = home.archive.read_behind(run_id, state.hlc, state.events, hlc)
    return None if tail is None else _built(state, tail, hlc)


def _built(state: RunState, tail: list[Stored], hlc: int | None) -> FleetState:
    streams = {Stream(state.run_id, *key): agent.seq for key, agent in state.agents.items()}
    causality = Causality(streams)
    metas = [decode_meta(stored.payload) for stored in tail]
    for meta in metas:
        causes = tuple(EventId(cause.run_id, cause.agent_id, cause.incarnation, cause.seq) for cause in meta.causes)
        causality.add(EventId(meta.run_id, meta.agent_id, meta.incarnation, meta.seq), meta.hlc, causes)
    cut = _cut(causality, hlc)
    folding = Folding(state)
    for meta, stored in zip(metas, tail, strict=True):
        if cut.holds(EventId(meta.run_id, meta.agent_id, meta.incarnation, meta.seq)):
            folding.add(stored.payload, over_gaps=True)
    return FleetState(cut, proof(causality, cut), tuple(causality.skews()), {state.run_id: state})


def _cut(causality: Causality, hlc: int | None) -> Cut:
    if hlc is not None:
        return cut_at_time(causality, hlc)
    return Cut({stream: causality.last(stream) for stream in causality.streams()})


def _is_local(home: Home, run_id: str) -> bool:
    try:
        home.own_catalogue.run(run_id)
    except UnknownRun:
        return False
    return True
