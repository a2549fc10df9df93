"""`tacho timeline`: a run as a space-time diagram."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace

from tachograph.control._answer import Answer, Document
from tachograph.control._diagram import draw
from tachograph.control._homes import load_run, open_home, resolve_run
from tachograph.control._parser import Commands, add_command, add_run
from tachograph.control._preview import Previewer
from tachograph.control._screen import Screen, Span
from tachograph.control._settings import Settings
from tachograph.control._timeline import Lane, Row, Timeline, timeline_of
from tachograph.core.errors import InvalidSetting
from tachograph.core.state import RunState, replayability


def register(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(commands, "timeline", "show a run as a space-time diagram of its agents", _timeline)
    add_run(parser)
    parser.add_argument("--agent", action="append", metavar="AGENT", help="only this agent; may be given again")
    parser.add_argument("--reads", action="store_true", help="show clock, random and id reads and timers, too")
    parser.add_argument("--limit", type=int, metavar="N", help="only the first N rows")


def _timeline(arguments: argparse.Namespace, settings: Settings) -> Answer:
    home = open_home(settings)
    run = load_run(home, resolve_run(home, str(arguments.run)))
    whole = timeline_of(run.events, Previewer(home))
    agents: Sequence[str] = arguments.agent or ()
    limit: int | None = arguments.limit
    chosen = _filtered(whole, agents, reads=bool(arguments.reads), limit=limit)
    hidden = len(whole.rows) - len(chosen.rows)
    missing = _missing(run.state)
    document: dict[str, Document] = {
        "run_id": run.run_id,
        "lanes": [{"agent": lane.agent_id, "role": lane.role} for lane in chosen.lanes],
        "rows": [_row_document(row) for row in chosen.rows],
        "hidden": hidden,
        "missing": list(missing),
    }
    return Answer(document, lambda screen: _render(screen, chosen, hidden, missing))


def _missing(state: RunState) -> tuple[str, ...]:
    """What is not there of a run that is not whole: the diagram alone would not show it.

    What an imported run's source never had is for `tacho show`.
    """
    return replayability(state).missing if state.imported is None else ()


def _render(screen: Screen, timeline: Timeline, hidden: int, missing: Sequence[str]) -> None:
    draw(timeline, screen)
    if hidden:
        screen.line(f"{hidden} rows not shown; `--reads` shows clock, random and id reads.")
    for sentence in missing:
        screen.line(Span("not whole  ", "warn"), sentence)


def _filtered(timeline: Timeline, agents: Sequence[str], *, reads: bool, limit: int | None) -> Timeline:
    known = {lane.agent_id for lane in timeline.lanes}
    for agent in agents:
        if agent not in known:
            raise InvalidSetting("--agent", agent, f"no such agent in this run; it has {', '.join(sorted(known))}")
    if limit is not None and limit < 1:
        raise InvalidSetting("--limit", limit, "it must be at least 1")
    kept = [row for row in timeline.rows if (reads or row.kind != "read") and (not agents or row.agent_id in agents)]
    kept = kept[:limit]
    return Timeline(_lanes_of(timeline.lanes, kept), tuple(kept))


def _lanes_of(lanes: Sequence[Lane], rows: Sequence[Row]) -> tuple[Lane, ...]:
    """The lanes that the kept rows need, with their new ends."""
    places: dict[str, list[int]] = {}
    for number, row in enumerate(rows):
        places.setdefault(row.agent_id, []).append(number)
    return tuple(
        replace(lane, first=places[lane.agent_id][0], last=places[lane.agent_id][-1])
        for lane in lanes
        if lane.agent_id in places
    )


def _row_document(row: Row) -> Document:
    return {
        "event_id": row.event_id,
        "at_ms": row.at_ms,
        "agent": row.agent_id,
        "kind": row.kind,
        "text": row.text,
        "outcome": row.outcome,
        "towards": row.towards,
        "trace": row.trace,
    }
