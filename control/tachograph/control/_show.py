"""`tacho show`: one run, its agents, effects and signatures, and what its evidence is good for."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from datetime import UTC, datetime

from tachograph.control._agents import AgentFacts, agents_of
from tachograph.control._answer import Answer, Document
from tachograph.control._effects import effect_document, effect_rows
from tachograph.control._errors import UsageError
from tachograph.control._homes import load_run, open_home, resolve_run
from tachograph.control._integrity import problems_of, sentence_of
from tachograph.control._parser import Commands, add_command, add_run
from tachograph.control._raw_access import add_raw_options, asked_of
from tachograph.control._runs import run_document, status_of
from tachograph.control._screen import Part, Screen, Span, Style
from tachograph.control._settings import Settings
from tachograph.control._show_event import is_event, show_event
from tachograph.core.state import Replayability, Severity, SignatureHit, replayability, signatures
from tachograph.schemas import Fidelity
from tachograph.stores import EffectRow, RunRow

_HIT_STYLE: dict[Severity, Style] = {Severity.FAILURE: "bad", Severity.INFO: "dim"}


def register(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands, "show", "show one run: agents, effects, signatures, what can be replayed; or one event", _show
    )
    add_run(
        parser, help_text="run id, the beginning of one, or `latest`; with /AGENT#LIFE.SEQ behind it, one of its events"
    )
    add_raw_options(parser, "of an event: with what redaction took out; needs the key")


def _show(arguments: argparse.Namespace, settings: Settings) -> Answer:
    if is_event(str(arguments.run)):
        return show_event(arguments, settings)
    if asked_of(arguments) is not None:
        problem = "--raw is for one event, as in `tacho show latest/triage#1.4 --raw --reason TEXT`"
        raise UsageError(problem, "Name the event; `tacho timeline RUN --json` lists them.")
    home = open_home(settings)
    loaded = load_run(home, resolve_run(home, str(arguments.run)))
    run = home.catalogue.run(loaded.run_id)
    agents = agents_of(loaded.events)
    effects = home.catalogue.effects(loaded.run_id)
    hits = signatures(loaded.state)
    grade = replayability(loaded.state)
    problems = problems_of(home)
    audit = problems.get(run.run_id, ())
    document: dict[str, Document] = {
        "run": run_document(run, problems),
        "agents": [_agent_document(agent) for agent in agents],
        "effects": [effect_document(effect) for effect in effects],
        "signatures": [_signature_document(hit) for hit in hits],
        "replayability": {"grade": grade.grade.value, "missing": list(grade.missing)},
    }

    def render(screen: Screen) -> None:
        _render(screen, run, agents, effects, hits)
        _render_grade(screen, grade)
        for finding in audit:
            screen.wrapped((Span("Auditor: ", "bad"), sentence_of(finding)), indent=0)

    return Answer(document, render)


def _agent_document(agent: AgentFacts) -> Document:
    return {
        "agent": agent.agent_id,
        "role": agent.role,
        "status": agent.status,
        "incarnations": agent.incarnations,
        "events": agent.events,
        "open_calls": agent.open_calls,
    }


def _signature_document(hit: SignatureHit) -> Document:
    return {
        "name": hit.name,
        "class": hit.failure_class.value,
        "severity": hit.severity.value,
        "agent": hit.agent_id,
        "event_ids": list(hit.event_ids),
        "sentence": hit.sentence,
    }


def _render(
    screen: Screen,
    run: RunRow,
    agents: Sequence[AgentFacts],
    effects: Sequence[EffectRow],
    hits: Sequence[SignatureHit],
) -> None:
    _head(screen, run)
    screen.line()
    rows: list[list[Part]] = [
        [Span(a.agent_id, "bold"), a.status, str(a.incarnations), str(a.events), str(a.open_calls or ""), a.role]
        for a in agents
    ]
    screen.table(["AGENT", "STATUS", "LIVES", "EVENTS", "OPEN CALLS", "ROLE"], rows)
    if effects:
        screen.line()
        screen.table(["STATE", "EFFECT", "KEY", "EVENT"], effect_rows(effects))
    for hit in hits:
        screen.line()
        screen.line(Span(hit.name, _HIT_STYLE[hit.severity]), Span(f"  {hit.failure_class.value}", "dim"))
        screen.wrapped((hit.sentence,), indent=2)


def _render_grade(screen: Screen, grade: Replayability) -> None:
    screen.line()
    screen.line("Replayable: ", Span(grade.grade.value, "good" if grade.grade is Fidelity.COMPLETE else "warn"))
    for sentence in grade.missing:
        screen.wrapped((f"missing: {sentence}",), indent=2)


def _head(screen: Screen, run: RunRow) -> None:
    screen.line(Span(run.name, "bold"), f"  {run.run_id}")
    started = datetime.fromtimestamp(run.started_at_us / 1_000_000, UTC).isoformat(" ", "seconds")
    took = "" if run.finished_at_us is None else f", took {(run.finished_at_us - run.started_at_us) / 1_000_000:.3f} s"
    screen.line("  ", status_of(run), f", {run.events} events, started {started}{took}")
    if run.parent_run_id is not None:
        screen.line("  ", f"a fork of {run.parent_run_id}")
