"""Cuts of an archived run, at a cost that does not grow with the run.

What reads the archive is loaded only where there is one: a home without any pays nothing for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tachograph.core.causality import EventId
from tachograph.core.cut import Stream
from tachograph.core.errors import UnknownRun
from tachograph.stores._cuts import FleetState, offsets_of
from tachograph.stores._home import Home

if TYPE_CHECKING:
    from tachograph.stores._cut_places import StepPlace
    from tachograph.stores.archive import RunPages

At = int | EventId | Mapping[Stream, int] | None
"""A time (hlc), an event with all that it could have known, positions of streams, or the end."""


def state_from_snapshot(home: Home, run_id: str, at: At) -> FleetState | None:
    """What `state_at` gives for one run, from the nearest snapshot before the cut and what lies between the two.

    Its proof counts the causes of events behind the snapshot: the snapshot itself is closed, as the fold makes it.

    Args:
        home: whose archive holds the run.
        run_id: of the run.
        at: the cut.

    Returns:
        None where the archive's segments do not tell enough (those of earlier releases, and streams with gaps), or where
        this machine has recorded some of the run itself: then the run is to be read from its beginning.

    Raises:
        UnknownEvent: the run has no such event.
        CorruptFrame, StoreUnavailable: the archive cannot be read.
    """
    pages = _pages(home, run_id)
    if pages is None or home.archive is None or home.snapshots is None:
        return None
    from tachograph.stores._cut_reading import Reading

    reading = Reading(home.archive, home.snapshots, pages)
    if isinstance(at, EventId):
        return reading.at_event(at)
    return reading.at_time(at) if at is None or isinstance(at, int) else reading.at_positions(at)


def archived_positions(home: Home, run_id: str, text: str) -> Mapping[Stream, int] | None:
    """What `positions_at` gives for one run, without reading its events.

    Returns:
        None where the run has to be read: as above, or a place is named that is no partition the run lies in.

    Raises:
        InvalidOffsets: the text cannot be read.
        StoreUnavailable: the archive cannot be read.
    """
    limits = offsets_of(text)
    pages = _pages(home, run_id)
    if pages is None:
        return None
    from tachograph.stores._cut_places import positions_below

    return positions_below(pages, limits)


def archived_step(home: Home, run_id: str, agent_id: str, incarnation: int | None, number: int) -> StepPlace | None:
    """Where a step of an agent begins, as `core.replay.step_positions` says; little of the run is read.

    Args:
        home: whose archive holds the run.
        run_id: of the run.
        agent_id: of the agent.
        incarnation: its life; None: the last.
        number: of the step, from 1 on.

    Returns:
        None where the run has to be read: as above, or it has no such agent.

    Raises:
        CorruptFrame, StoreUnavailable: the archive cannot be read.
    """
    pages = _pages(home, run_id)
    if pages is None or home.archive is None:
        return None
    from tachograph.stores._cut_places import step_at

    return step_at(home.archive, pages, agent_id, incarnation, number)


def _pages(home: Home, run_id: str) -> RunPages | None:
    if home.archive is None or _is_local(home, run_id):
        return None
    home.archive.refresh()
    return home.archive.pages(run_id)


def _is_local(home: Home, run_id: str) -> bool:
    try:
        home.own_catalogue.run(run_id)
    except UnknownRun:
        return False
    return True
