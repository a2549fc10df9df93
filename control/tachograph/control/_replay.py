"""`tacho replay`: re-drive recorded runs and say what that proved."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from tachograph.control._announce import announce
from tachograph.control._answer import Answer, Document
from tachograph.control._documents import replay_document
from tachograph.control._exit import ExitCode
from tachograph.control._homes import open_home, resolve_run
from tachograph.control._parser import Commands, add_command
from tachograph.control._progress import progress
from tachograph.control._raw_access import Asked, add_raw_options, asked_of
from tachograph.control._screen import Part, Screen, Span
from tachograph.control._services import replay_service, report_service
from tachograph.control._settings import Settings
from tachograph.control._verdict_text import show_verdict, status_span
from tachograph.core.errors import InvalidSetting
from tachograph.core.ports import ReplayOptions, ReplayResult
from tachograph.core.replay import VerdictStatus

Reports = Mapping[str, Mapping[str, Path]]
"""Run id to format to file."""

EXIT_OF_STATUS = {
    VerdictStatus.REPRODUCED: ExitCode.OK,
    VerdictStatus.DIVERGED: ExitCode.DIFFERENT,
    VerdictStatus.LIMITED: ExitCode.LIMITED,
}


def register(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "replay",
        "re-drive recorded control logic with recorded answers; nothing is sent out",
        _replay,
        epilog="Exit codes: 0 every run reproduced; 1 one diverged; 2 none diverged, one is limited.",
    )
    parser.add_argument("runs", nargs="*", metavar="RUN", help="run ids, beginnings of them, or `latest`")
    parser.add_argument("--all", action="store_true", help="every run of the home")
    parser.add_argument("--code", metavar="DIR", help="control logic in this directory instead of the recorded one")
    parser.add_argument("--report", metavar="DIR", help="write report.html, report.json and report.txt there")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="processes (default: cores)")
    add_raw_options(parser, "give control logic what redaction took out; needs the runs' keys")
    add_guards(parser)


def add_guards(parser: argparse.ArgumentParser) -> None:
    """Add the limits that a replay and a fork share."""
    parser.add_argument(
        "--steps-max", type=int, default=1_000_000, metavar="N", help="stop an agent after N steps (default: 1000000)"
    )
    parser.add_argument(
        "--seconds-max", type=float, default=600.0, metavar="S", help="stop a unit after S seconds (default: 600)"
    )
    parser.add_argument(
        "--cpu-seconds-max",
        type=float,
        default=30.0,
        metavar="S",
        help="stop a unit after S seconds of processor time without a step (default: 30)",
    )


def check_guards(arguments: argparse.Namespace) -> None:
    """Refuse limits that cannot be."""
    for name in ("steps_max", "seconds_max", "cpu_seconds_max"):
        value = getattr(arguments, name)
        if not value > 0:
            raise InvalidSetting(f"--{name.replace('_', '-')}", value, "it must be above 0")


def code_directory(given: str | None) -> str | None:
    """The directory of `--code`, which must exist."""
    if given is not None and not Path(given).is_dir():
        raise InvalidSetting("--code", given, "there is no such directory")
    return given


def _replay(arguments: argparse.Namespace, settings: Settings) -> Answer:
    check_guards(arguments)
    jobs = int(arguments.jobs)
    if jobs < 1:
        raise InvalidSetting("--jobs", jobs, "it must be at least 1")
    options = ReplayOptions(
        code_directory(arguments.code),
        int(arguments.steps_max),
        float(arguments.seconds_max),
        float(arguments.cpu_seconds_max),
        raw=bool(arguments.raw),
        raw_keys=None if settings.raw_keys is None else str(settings.raw_keys),
    )
    asked = asked_of(arguments)
    run_ids = _chosen(settings, arguments.runs, every=bool(arguments.all))
    service = replay_service()
    if asked is not None:
        _tell(settings, asked, dict.fromkeys(run_ids, "replayed"))
    with progress("replay") as shown:
        results = service(settings.home, run_ids, options, jobs, shown)
    if asked is not None:
        _tell(settings, asked, {result.run_id: f"refused: {result.error}" for result in results if result.error})
    announce(open_home(settings), results)
    reports = _reports(settings.home, results, arguments.report)
    document: dict[str, Document] = {
        "runs": [_with_report(result, reports) for result in results],
        "summary": {**_summary(results), "levels_reproduced": dict(_levels(results))},
    }
    return Answer(document, lambda screen: _render(screen, results, reports), _exit_code(results))


def _tell(settings: Settings, asked: Asked, outcomes: Mapping[str, str]) -> None:
    """Tell the audit log of raw values in replays."""
    home = open_home(settings)
    for run_id, outcome in outcomes.items():
        asked.tell(home, run_id, outcome)


def _chosen(settings: Settings, named: Sequence[str], *, every: bool) -> list[str]:
    if every == bool(named):
        raise InvalidSetting("RUN", " ".join(named), "name runs, or give --all; one of both")
    home = open_home(settings)
    if every:
        return list(home.log.run_ids())
    return list(dict.fromkeys(resolve_run(home, text) for text in named))


def _reports(home: Path, results: Sequence[ReplayResult], directory: str | None) -> Reports:
    if directory is None:
        return {}
    write = report_service()
    root = Path(directory)
    alone = len(results) == 1
    return {result.run_id: write(home, result, root if alone else root / result.run_id) for result in results}


def _with_report(result: ReplayResult, reports: Reports) -> Document:
    files = {kind: str(path) for kind, path in reports.get(result.run_id, {}).items()}
    return {**replay_document(result), "report": files}


def _summary(results: Sequence[ReplayResult]) -> dict[str, int]:
    counts = {status.value: 0 for status in VerdictStatus}
    for result in results:
        counts[result.verdict.status.value] += 1
    counts["live_calls"] = sum(sum(result.verdict.live.values()) for result in results)
    return {"runs": len(results), **counts}


def _levels(results: Sequence[ReplayResult]) -> dict[str, int]:
    """How many runs reproduced on each level: of limited runs, too."""
    verdicts = [result.verdict for result in results]
    return {
        "control_flow": sum(verdict.control_flow == "reproduced" for verdict in verdicts),
        "state": sum(verdict.state == "reproduced" for verdict in verdicts),
        "content": sum(verdict.content == "reproduced" for verdict in verdicts),
    }


def _exit_code(results: Sequence[ReplayResult]) -> ExitCode:
    """The worst news of all."""
    statuses = {result.verdict.status for result in results}
    for status in (VerdictStatus.DIVERGED, VerdictStatus.LIMITED):
        if status in statuses:
            return EXIT_OF_STATUS[status]
    return ExitCode.OK


def _render(screen: Screen, results: Sequence[ReplayResult], reports: Reports) -> None:
    if not results:
        screen.line("No runs here.")
    elif len(results) == 1:
        _render_one(screen, results[0])
    else:
        _render_many(screen, results)
    for files in reports.values():
        screen.labelled("report", Span(str(files.get("html", "")), "link"))


def _render_one(screen: Screen, result: ReplayResult) -> None:
    screen.line(
        status_span(result.verdict.status), "  ", Span(result.run_name, "bold"), f"  {result.run_id}",
        Span(f"  {result.seconds:.2f} s", "dim"),
    )  # fmt: skip
    if result.error is not None:
        screen.labelled("no proof", Span(result.error, "warn"))
    show_verdict(screen, result.verdict)


def _render_many(screen: Screen, results: Sequence[ReplayResult]) -> None:
    rows: list[list[Part]] = [
        [result.run_id, result.run_name, status_span(result.verdict.status), _why(result)] for result in results
    ]
    screen.table(["RUN", "NAME", "VERDICT", "WHY"], rows)
    screen.line(_counts(_summary(results)))
    screen.line("reproduced on the level of: ", _counts(_levels(results)))


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in counts.items())


def _why(result: ReplayResult) -> str:
    verdict = result.verdict
    if verdict.first_divergence is not None:
        return verdict.first_divergence.sentence or verdict.first_divergence.kind.value
    return result.error or "; ".join(verdict.missing or verdict.taints)
