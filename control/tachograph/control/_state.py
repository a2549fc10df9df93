"""`tacho state`: what a run, or the fleet it belongs to, was at a cut."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence

from tachograph.control._answer import Answer, Document
from tachograph.control._at import HELP, Moment, moment_of
from tachograph.control._homes import load_run, open_home, resolve_run
from tachograph.control._parser import Commands, add_command, add_run
from tachograph.control._preview import Previewer
from tachograph.control._screen import Part, Screen, Span
from tachograph.control._settings import Settings
from tachograph.core.causality import EventId, hlc_ms
from tachograph.core.cut import Causality, Skew, Wait, waits
from tachograph.core.errors import InvalidSetting
from tachograph.core.state import AgentState, EffectRecord, RunState, deadlocked
from tachograph.schemas import ROOT_AGENT_ID, EffectState
from tachograph.stores import FleetState, Home, causality_of, linked_runs, state_at, state_from_snapshot

_PENDING = frozenset({EffectState.PLANNED, EffectState.EXECUTING, EffectState.UNKNOWN})


def register(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands, "state", "show the state of a run, or of its whole fleet, at a consistent cut", _state
    )
    add_run(parser)
    parser.add_argument("--at", metavar="WHEN", help=HELP.replace("%", "%%"))
    parser.add_argument("--fleet", action="store_true", help="with all runs linked by parentage or effects")
    parser.add_argument("--agent", metavar="AGENT", help="only this agent")


def _state(arguments: argparse.Namespace, settings: Settings) -> Answer:
    home = open_home(settings)
    run_id = resolve_run(home, str(arguments.run))
    run_ids = [run_id]
    if arguments.fleet:
        run_ids += [other for other in linked_runs(home.catalogue.runs(), run_id) if other != run_id]
    moment = moment_of(arguments.at, home, run_ids, lambda: load_run(home, run_id).events)
    asked = None if arguments.agent is None else str(arguments.agent)
    fleet = _from_snapshot(home, run_ids, moment, asked)
    agent = asked
    if fleet is None:
        known = causality_of(home.log, run_ids)
        agent = _asked(asked, known)
        fleet = state_at(home.log, run_ids, moment.make, known)
    preview = Previewer(home)
    return Answer(
        _document(fleet, moment, agent, preview), lambda screen: _render(screen, fleet, moment, agent, preview)
    )


def _from_snapshot(home: Home, run_ids: Sequence[str], moment: Moment, agent: str | None) -> FleetState | None:
    """The state built on a snapshot, where that can be, and has begun the agent that is asked for."""
    if len(run_ids) > 1:
        return None
    fleet = state_from_snapshot(home, run_ids[0], moment.at)
    if fleet is None or agent is None:
        return fleet
    return fleet if any(agent == agent_id for agent_id, _ in fleet.runs[run_ids[0]].agents) else None


def _asked(agent: str | None, known: Causality) -> str | None:
    """The agent that is to be shown, which need not have begun at the cut; None: all."""
    agents = {stream.agent_id for stream in known.streams()}
    if agent is not None and agent not in agents:
        raise InvalidSetting("--agent", agent, f"no such agent in this run; it has {', '.join(sorted(agents))}")
    return agent


def _document(fleet: FleetState, moment: Moment, agent: str | None, preview: Previewer) -> dict[str, Document]:
    return {
        "at": moment.text,
        "cut": {
            "positions": [
                {"run_id": stream.run_id, "agent": stream.agent_id, "incarnation": stream.incarnation, "seq": seq}
                for stream, seq in sorted(fleet.cut.positions.items())
            ],
            "closed": fleet.proof.is_closed,
            "events": fleet.proof.events,
            "causes_checked": fleet.proof.edges,
            "missing": [str(event_id) for event_id in fleet.proof.missing],
        },
        "skews": [_skew_document(skew) for skew in fleet.skews],
        "runs": [_run_document(state, agent, preview) for state in fleet.runs.values()],
    }


def _skew_document(skew: Skew) -> Document:
    return {"event_id": str(skew.event_id), "cause": str(skew.cause), "ahead_ms": skew.ahead_ms}


def _run_document(state: RunState, agent: str | None, preview: Previewer) -> Document:
    return {
        "run_id": state.run_id,
        "name": state.name,
        "status": state.status,
        "outcome": state.outcome,
        "agents": [_agent_document(state, one, preview) for one in _agents(state, agent)],
        "in_flight": [
            {"message_id": message_id, "from": letter.from_agent_id, "to": letter.to_agent_id}
            for message_id, letter in sorted(state.in_flight.items())
        ],
        "effects": [
            {"effect_id": effect.effect_id, "name": effect.name, "state": effect.state} for effect in _pending(state)
        ],
        "waits": [_wait_document(wait) for wait in waits(state)],
        "deadlocked": list(deadlocked(state)),
    }


def _agent_document(state: RunState, agent: AgentState, preview: Previewer) -> Document:
    where = str(EventId(state.run_id, agent.agent_id, agent.incarnation, agent.seq))
    return {
        "agent": agent.agent_id,
        "incarnation": agent.incarnation,
        "role": agent.role,
        "status": agent.status,
        "outcome": agent.outcome,
        "at": where,
        "logical_time_us": agent.logical_time_us,
        "open_calls": [
            {"call_id": seq, "kind": call.kind, "name": call.name} for seq, call in agent.open_calls.items()
        ],
        "values": {key: preview(body, where) for key, body in sorted(agent.values.items())},
        "checkpoint": None if agent.checkpoint is None else agent.checkpoint[0],
        "calls": dict(sorted(agent.calls.items())),
    }


def _wait_document(wait: Wait) -> Document:
    return {
        "agent": wait.agent_id,
        "call": str(wait.call),
        "kind": wait.kind,
        "name": wait.name,
        "since_ms": hlc_ms(wait.since_hlc),
        "agents": list(wait.agents),
        "coming": [str(event_id) for event_id in wait.coming],
    }


def _agents(state: RunState, only: str | None) -> Iterator[AgentState]:
    for key in sorted(state.agents):
        agent = state.agents[key]
        if only in (None, agent.agent_id) and (agent.agent_id != ROOT_AGENT_ID or only is not None or agent.values):
            yield agent


def _pending(state: RunState) -> list[EffectRecord]:
    return [state.effects[key] for key in sorted(state.effects) if state.effects[key].state in _PENDING]


def _render(screen: Screen, fleet: FleetState, moment: Moment, agent: str | None, preview: Previewer) -> None:
    _render_cut(screen, fleet, moment)
    for state in fleet.runs.values():
        screen.line()
        status = state.status if state.outcome is None else f"{state.status} {state.outcome}"
        screen.line(Span(state.name or state.run_id, "bold"), f"  {state.run_id}  {status}")
        _render_agents(screen, state, agent, preview)
        _render_open(screen, state)


def _render_cut(screen: Screen, fleet: FleetState, moment: Moment) -> None:
    proof = fleet.proof
    closed = Span("closed", "good") if proof.is_closed else Span("not closed", "bad")
    screen.line("Cut at ", Span(moment.text, "bold"), ": ", closed)
    lost = len(proof.missing)
    inside = f"all but {lost} are inside" if lost else "each is inside"
    screen.line(
        f"  {proof.events} events of {proof.streams} streams; of their {proof.edges} causes in other streams {inside}"
    )
    for missing in proof.missing:
        screen.line(Span("  missing  ", "warn"), f"{missing} is a cause, and not in the evidence")
    for skew in fleet.skews:
        screen.line(Span("  clock    ", "warn"), f"{skew.cause} ran {skew.ahead_ms} ms ahead of {skew.event_id}")


def _render_agents(screen: Screen, state: RunState, only: str | None, preview: Previewer) -> None:
    shown = list(_agents(state, only))
    rows: list[list[Part]] = [
        [Span(_name(agent), "bold"), agent.outcome or agent.status, str(agent.seq), _doing(agent)] for agent in shown
    ]
    if rows:
        screen.table(["AGENT", "STATUS", "EVENT", "OPEN CALLS"], rows, indent=2)
    for agent in shown:
        where = str(EventId(state.run_id, agent.agent_id, agent.incarnation, agent.seq))
        for key, body in sorted(agent.values.items()):
            screen.line("  ", Span(_name(agent), "bold"), f".{key} = ", preview(body, where))


def _render_open(screen: Screen, state: RunState) -> None:
    for message_id, letter in sorted(state.in_flight.items()):
        screen.line(Span("  in flight  ", "link"), f"{letter.from_agent_id} → {letter.to_agent_id}  {message_id}")
    for effect in _pending(state):
        screen.line(Span("  effect     ", "effect"), f"{effect.state}  {effect.name}  {effect.effect_id}")
    for wait in waits(state):
        screen.line(Span("  waits      ", "warn"), _wait_text(wait))
    circle = deadlocked(state)
    if circle:
        screen.line(Span("  deadlock   ", "bad"), f"{', '.join(circle)} wait for each other; nobody else can send")


def _wait_text(wait: Wait) -> str:
    since = f"since {wait.call}"
    if wait.coming:
        return f"{wait.agent_id} for a message that is on its way ({', '.join(map(str, wait.coming))}), {since}"
    if wait.kind == "messages":
        return f"{wait.agent_id} for a message{_from(wait.agents)}, {since}"
    return f"{wait.agent_id} for {wait.kind} {wait.name}, {since}"


def _from(agents: Sequence[str]) -> str:
    return f" from {', '.join(agents)}" if agents else " that nobody can send"


def _name(agent: AgentState) -> str:
    return agent.agent_id if agent.incarnation == 1 else f"{agent.agent_id}#{agent.incarnation}"


def _doing(agent: AgentState) -> str:
    return ", ".join(f"{call.kind} {call.name}" for call in agent.open_calls.values())
