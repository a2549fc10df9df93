"""`tacho past` and `tacho future`: what an event could have known, and what it could have changed."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence

from tachograph.control._answer import Answer, Document
from tachograph.control._at import event_of
from tachograph.control._errors import AmbiguousRun
from tachograph.control._homes import LATEST, load_run, open_home, resolve_run
from tachograph.control._parser import Commands, add_command
from tachograph.control._preview import Previewer
from tachograph.control._screen import Part, Screen, Span
from tachograph.control._settings import Settings
from tachograph.control._timeline import Row, timeline_of
from tachograph.core.causality import EventId
from tachograph.core.cut import Causality, Cone, Stream, future, past
from tachograph.core.errors import CallerError, UnknownRun
from tachograph.stores import Home, causality_of, linked_runs

_ROWS_MAX = 200
"""Rows shown to a person; the JSON document has all."""


class NotAnEvent(CallerError):
    """A text that names no event."""

    def __init__(self, text: str) -> None:
        self.text = text
        super().__init__(
            f"{text!r} is no event: give its id, RUN/AGENT#INCARNATION.SEQ, or without the run for the latest one; "
            f"`tacho timeline RUN --json` shows the ids."
        )


def register(commands: Commands) -> None:
    """Add the commands."""
    _add(commands, "past", "show everything that could have influenced an event", past)
    _add(commands, "future", "show everything that an event could have influenced", future)


def _add(commands: Commands, name: str, summary: str, cone: Callable[[Causality, EventId], Cone]) -> None:
    def answer(arguments: argparse.Namespace, settings: Settings) -> Answer:
        return _cone(arguments, settings, cone)

    parser = add_command(commands, name, summary, answer)
    parser.add_argument("event", metavar="EVENT", help="event id; without its run, of the latest run")
    parser.add_argument("--fleet", action="store_true", help="over all runs linked by parentage or effects")
    parser.add_argument("--reads", action="store_true", help="show clock, random and id reads and timers, too")


def _cone(arguments: argparse.Namespace, settings: Settings, make: Callable[[Causality, EventId], Cone]) -> Answer:
    home = open_home(settings)
    event_id = _event(home, str(arguments.event))
    run_ids: tuple[str, ...] = (event_id.run_id,)
    if arguments.fleet:
        run_ids = linked_runs(home.catalogue.runs(), event_id.run_id)
    cone = make(causality_of(home.log, run_ids), event_id)
    rows = [row for run_id in run_ids for row in _rows(home, run_id, cone)]
    shown = [row for row in rows if arguments.reads or row.kind != "read"]
    return Answer(_document(cone, rows), lambda screen: _render(screen, cone, shown))


def _event(home: Home, text: str) -> EventId:
    run_text, _, rest = text.partition("/")
    if "#" in run_text:
        run_text, rest = LATEST, text
    try:
        run_id = resolve_run(home, run_text)
    except (UnknownRun, AmbiguousRun):
        latest = _agents_run(home, text)
        if latest is None:
            raise
        run_id, rest = latest, text
    event_id = event_of(rest, run_id)
    if event_id is None:
        raise NotAnEvent(text)
    return event_id


def _agents_run(home: Home, text: str) -> str | None:
    """The latest run, where it has the agent that an event is named by alone: ids of agents may hold a `/`, too."""
    latest = next(reversed(list(home.log.run_ids())), None)
    if latest is None:
        return None
    agents = {agent_id for agent_id, _ in load_run(home, latest).state.agents}
    return latest if text.rpartition("#")[0] in agents else None


def _rows(home: Home, run_id: str, cone: Cone) -> list[Row]:
    timeline = timeline_of(load_run(home, run_id).events, Previewer(home))
    return [row for row in timeline.rows if _holds(cone, EventId.parse(row.event_id))]


def _holds(cone: Cone, event_id: EventId) -> bool:
    span = cone.spans.get(Stream(*event_id[:3]))
    return span is not None and span[0] <= event_id.seq <= span[1]


def _document(cone: Cone, rows: Sequence[Row]) -> dict[str, Document]:
    return {
        "event_id": str(cone.of),
        "events": cone.events,
        "agents": list(cone.agents),
        "spans": [
            {
                "run_id": stream.run_id,
                "agent": stream.agent_id,
                "incarnation": stream.incarnation,
                "first": first,
                "last": last,
            }
            for stream, (first, last) in cone.spans.items()
        ],
        "missing": [str(event_id) for event_id in cone.missing],
        "rows": [{"event_id": row.event_id, "agent": row.agent_id, "kind": row.kind, "text": row.text} for row in rows],
    }


def _render(screen: Screen, cone: Cone, rows: Sequence[Row]) -> None:
    runs = len({stream.run_id for stream in cone.spans})
    beside = f" of {runs} runs" if runs > 1 else ""
    agents = ", ".join(cone.agents) or "none"
    screen.line(Span(str(cone.of), "bold"), f": {cone.events} events{beside}, agents: {agents}")
    for missing in cone.missing:
        screen.line(Span("missing  ", "warn"), f"{missing} is a cause, and not in the evidence")
    table: list[list[Part]] = [[row.agent_id, row.event_id.rpartition("#")[2], row.text] for row in rows[:_ROWS_MAX]]
    if table:
        screen.table(["AGENT", "EVENT", "WHAT"], table)
    if len(rows) > _ROWS_MAX:
        screen.line(f"{len(rows) - _ROWS_MAX} more rows; `--json` has all.")
