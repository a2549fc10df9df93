"""`tacho verify`, `tacho export`, `tacho rebuild`: keeping evidence whole."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from tachograph.control._answer import Answer, Document
from tachograph.control._exit import ExitCode
from tachograph.control._export import export_run
from tachograph.control._homes import open_home, resolve_run
from tachograph.control._parser import Commands, add_command, add_run
from tachograph.control._progress import progress
from tachograph.control._screen import Screen, Span, Style
from tachograph.control._settings import Settings
from tachograph.stores import Finding, RebuildReport, VerifyReport, rebuild, verify_home


def register(commands: Commands) -> None:
    """Add the commands."""
    verify = add_command(commands, "verify", "check every frame, hash, cause and body", _verify)
    verify.add_argument("runs", nargs="*", metavar="RUN", help="only these runs")
    export = add_command(commands, "export", "write a run into one self-contained file", _export)
    add_run(export)
    export.add_argument("--to", required=True, metavar="FILE", help="the file to write, as in incident.tacho")
    again = add_command(commands, "rebuild", "build the catalogue anew from the log", _rebuild)
    again.add_argument("--check", action="store_true", help="only compare with the catalogue that is there")


def _verify(arguments: argparse.Namespace, settings: Settings) -> Answer:
    home = open_home(settings)
    named: Sequence[str] = arguments.runs
    run_ids = [resolve_run(home, text) for text in named] or None
    with progress("verify") as shown:
        report = verify_home(home, run_ids, shown)
    document: dict[str, Document] = {
        "findings": [_finding_document(finding) for finding in report.findings],
        "events": report.events,
        "bodies": report.bodies,
        "segments": report.segments,
        "runs": report.runs,
        "raw": report.raw,
    }
    code = ExitCode.DIFFERENT if report.damaged else ExitCode.OK
    return Answer(document, lambda screen: _render_verify(screen, report), code)


def _finding_document(finding: Finding) -> Document:
    return {
        "severity": finding.severity,
        "kind": finding.kind.value,
        "path": finding.path,
        "offset": finding.offset,
        "event_id": finding.event_id,
        "sentence": finding.sentence,
    }


def _render_verify(screen: Screen, report: VerifyReport) -> None:
    for finding in report.findings:
        style: Style = "bad" if finding.severity == "damage" else "warn"
        where = f"  {finding.path} at byte {finding.offset}"
        screen.line(Span(finding.kind.value, style), where, f"  {finding.event_id or ''}")
        screen.wrapped((finding.sentence,), indent=2)
    verdict = Span("DAMAGED", "bad") if report.damaged else Span("WHOLE", "good")
    counts = f"{report.events} events, {report.bodies} bodies, {report.segments} segments checked"
    screen.line(verdict, f"  {counts}, {len(report.findings)} findings")


def _export(arguments: argparse.Namespace, settings: Settings) -> Answer:
    home = open_home(settings)
    run_id = resolve_run(home, str(arguments.run))
    target = Path(str(arguments.to))
    done = export_run(home, run_id, target)
    document: dict[str, Document] = {
        "run_id": run_id,
        "file": str(target),
        "events": done.events,
        "objects": done.objects,
        "bytes": done.bytes,
    }
    text = f"{done.events} events and {done.objects} objects of run {run_id} in {target} ({done.bytes} bytes)"
    return Answer(document, lambda screen: screen.line(text))


def _rebuild(arguments: argparse.Namespace, settings: Settings) -> Answer:
    report = rebuild(open_home(settings), check=bool(arguments.check))
    differences = list(report.differences)
    document: dict[str, Document] = {
        "checked": bool(arguments.check),
        "runs": report.runs,
        "effects": report.effects,
        "differences": list(differences),
    }
    code = ExitCode.DIFFERENT if arguments.check and differences else ExitCode.OK
    return Answer(document, lambda screen: _render_rebuild(screen, report, check=bool(arguments.check)), code)


def _render_rebuild(screen: Screen, report: RebuildReport, *, check: bool) -> None:
    for sentence in report.differences:
        screen.line(Span("differs  ", "bad" if check else "dim"), sentence)
    counts = f"{report.runs} runs, {report.effects} effects"
    if check:
        same = not report.differences
        screen.line(Span("SAME", "good") if same else Span("DIFFERENT", "bad"), f"  {counts} compared with the log")
    else:
        screen.line(Span("REBUILT", "good"), f"  {counts}")
