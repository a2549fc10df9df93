"""`tacho runs`: what is recorded."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence

from tachograph.control._answer import Answer, Document
from tachograph.control._homes import open_home, short_ids
from tachograph.control._integrity import Problems, audit_document, lag_sentence, problems_of, unlisted, worst
from tachograph.control._parser import Commands, add_command
from tachograph.control._screen import Part, Screen, Span, Style
from tachograph.control._settings import Settings
from tachograph.core.errors import InvalidSetting
from tachograph.stores import RunRow

_STATUS_STYLE: dict[str, Style] = {"FINISHED": "plain", "RUNNING": "link", "TRUNCATED": "warn"}
_GRADE_STYLE: dict[str, Style] = {"COMPLETE": "good"}


def register(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(commands, "runs", "list the recorded runs, oldest first", _runs)
    parser.add_argument("--name", metavar="NAME", help="only runs of this name")
    parser.add_argument("--status", choices=tuple(_STATUS_STYLE), help="only runs in this status")
    parser.add_argument("--signature", metavar="NAME", help="only runs with this signature")
    parser.add_argument("--limit", type=int, metavar="N", help="only the last N")


def _runs(arguments: argparse.Namespace, settings: Settings) -> Answer:
    limit: int | None = arguments.limit
    if limit is not None and limit < 1:
        raise InvalidSetting("--limit", limit, "it must be at least 1")
    home = open_home(settings)
    every = home.catalogue.runs()
    run_ids = [run.run_id for run in every]
    lacking, problems = unlisted(home, run_ids), problems_of(home)
    chosen = [run for run in every if _is_asked_for(run, arguments)]
    chosen = chosen[-limit:] if limit else chosen

    def render(screen: Screen) -> None:
        if lacking:
            screen.wrapped((Span(lag_sentence(lacking, len(every)), "warn"),), indent=0)
        if every or not lacking:
            _render(screen, chosen, short_ids(run_ids), problems)

    documents: list[Document] = [run_document(run, problems) for run in chosen]
    return Answer({"runs": documents, "unlisted": lacking}, render)


def _is_asked_for(run: RunRow, arguments: argparse.Namespace) -> bool:
    return (
        arguments.name in (None, run.name)
        and arguments.status in (None, run.status)
        and (arguments.signature is None or arguments.signature in run.signatures)
    )


def run_document(run: RunRow, problems: Problems) -> dict[str, Document]:
    """A run, as in `docs/cli.md`."""
    return {
        "run_id": run.run_id,
        "name": run.name,
        "tenant": run.tenant,
        "parent_run_id": run.parent_run_id,
        "entrypoint": run.entrypoint,
        "status": run.status,
        "outcome": run.outcome,
        "started_at_us": run.started_at_us,
        "finished_at_us": run.finished_at_us,
        "agents": run.agents,
        "events": run.events,
        "effects": run.effects,
        "unknown_effects": run.unknown_effects,
        "fidelity": run.fidelity,
        "missing": list(run.missing),
        "signatures": list(run.signatures),
        "audit": audit_document(problems.get(run.run_id, ())),
    }


def _render(screen: Screen, runs: Sequence[RunRow], short: Mapping[str, str], problems: Problems) -> None:
    if not runs:
        screen.line(f"None of {len(short)} runs is such." if short else "No runs. Record some, or try `tacho demo`.")
        return
    header = ["RUN", "NAME", "STATUS", "FIDELITY", "AGENTS", "EVENTS", "UNKNOWN", "SIGNATURES"]
    is_audited = any(run.run_id in problems for run in runs)
    audits: list[list[Part]] = [
        [Span(worst(problems.get(run.run_id, ())), "bad")] if is_audited else [] for run in runs
    ]
    rows = [[*_row(run, short[run.run_id]), *audit] for run, audit in zip(runs, audits, strict=True)]
    screen.table([*header, *(["AUDIT"] if is_audited else [])], rows)


def _row(run: RunRow, short: str) -> list[Part]:
    unknown = str(run.unknown_effects or "")
    return [
        Span(short, "bold"),
        run.name,
        status_of(run),
        Span(run.fidelity, _GRADE_STYLE.get(run.fidelity, "warn")),
        str(run.agents),
        str(run.events),
        Span(unknown, "bad"),
        Span(", ".join(run.signatures), "bad"),
    ]


def status_of(run: RunRow) -> Span:
    """Status and outcome in one."""
    if run.outcome in (None, "OK"):
        return Span(run.status, _STATUS_STYLE.get(run.status, "plain"))
    return Span(f"{run.status} {run.outcome}", "warn")
