"""`tacho fork`: a new run that takes a prefix of a recorded one and goes on differently."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal, cast

from tachograph.control._answer import Answer, Document
from tachograph.control._at import event_of
from tachograph.control._documents import fork_document
from tachograph.control._exit import ExitCode
from tachograph.control._homes import open_home, resolve_run
from tachograph.control._parser import Commands, add_command, add_run
from tachograph.control._replay import add_guards, check_guards, code_directory
from tachograph.control._screen import Screen, Span
from tachograph.control._services import fork_service, report_service
from tachograph.control._settings import Settings
from tachograph.control._verdict_text import show_divergence
from tachograph.core.causality import EventId
from tachograph.core.errors import InvalidSetting
from tachograph.core.ports import ForkOptions, ForkResult, Override
from tachograph.core.replay import Sides, VerdictStatus, sentence

What = Literal["result", "message", "approval"]
SIDES = Sides("the parent", "the fork")

_OVERRIDES: tuple[What, ...] = ("result", "message", "approval")


def register(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "fork",
        "go on differently from a place in a recorded run, with recorded answers; effects are never executed",
        _fork,
        epilog="Event ids are those of `tacho timeline --json`, with or without the run. Exit codes: 0 the fork ran; 2 evidence was missing.",
    )
    add_run(parser)
    parser.add_argument("--from", dest="from_event", metavar="EVENT", help="may differ from this event on")
    for what in _OVERRIDES:
        help_text = f"another {what} in place of the recorded one; may be given again"
        parser.add_argument(f"--{what}", action="append", default=[], metavar="EVENT=JSON", help=help_text)
    parser.add_argument(
        "--replace",
        action="append",
        default=[],
        metavar="RECORDED=NEW",
        help="drive this entry point instead of the recorded one, both as module:name; may be given again",
    )
    parser.add_argument("--code", metavar="DIR", help="control logic in this directory")
    parser.add_argument(
        "--miss", choices=("fail", "stub"), default="fail", help="what an unrecorded call gets (default: fail)"
    )
    parser.add_argument("--report", metavar="DIR", help="write report.html, report.json and report.txt there")
    add_guards(parser)


def _fork(arguments: argparse.Namespace, settings: Settings) -> Answer:
    check_guards(arguments)
    home = open_home(settings)
    run_id = resolve_run(home, str(arguments.run))
    options = _options(arguments, run_id)
    result = fork_service()(settings.home, run_id, options)
    files: Mapping[str, Path] = {}
    if arguments.report is not None:
        files = report_service()(settings.home, result, Path(str(arguments.report)))
    document: dict[str, Document] = {
        **fork_document(result),
        "report": {kind: str(path) for kind, path in files.items()},
    }
    code = ExitCode.LIMITED if result.verdict.status is VerdictStatus.LIMITED else ExitCode.OK
    return Answer(document, lambda screen: render_fork(screen, result, files), code)


def _options(arguments: argparse.Namespace, run_id: str) -> ForkOptions:
    return ForkOptions(
        from_event=None if arguments.from_event is None else _event_id(str(arguments.from_event), run_id),
        overrides=tuple(
            _override(what, text, run_id)
            for what in _OVERRIDES
            for text in cast("Sequence[str]", getattr(arguments, what))
        ),
        code=code_directory(arguments.code),
        entrypoints=dict(_pair("--replace", text) for text in cast("Sequence[str]", arguments.replace)),
        miss=cast("Literal['fail', 'stub']", arguments.miss),
        steps_max=int(arguments.steps_max),
        seconds_max=float(arguments.seconds_max),
        cpu_seconds_max=float(arguments.cpu_seconds_max),
    )


def _pair(option: str, text: str) -> tuple[str, str]:
    left, equals, right = text.partition("=")
    if not (left and equals and right):
        raise InvalidSetting(option, text, "give both sides, as in LEFT=RIGHT")
    return left, right


def _event_id(text: str, run_id: str) -> str:
    """An event's id; without its run it is one of the run that is forked."""
    return str(event_of(text, run_id) or EventId.parse(text))


def _override(what: What, text: str, run_id: str) -> Override:
    event_id, value = _pair(f"--{what}", text)
    try:
        value_of = cast("object", json.loads(value, parse_constant=_no_constant))
        return Override(what, _event_id(event_id, run_id), value_of)
    except ValueError as error:
        raise InvalidSetting(f"--{what}", value, f"it is not JSON: {error}") from error


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is none of its values")


def ending(ended: str) -> str:
    """How control logic ended, an error by its bare name: where its class lives tells a person nothing."""
    name, colon, message = ended.partition(": ")
    return name.rpartition(".")[2] + colon + message


def render_fork(screen: Screen, result: ForkResult, files: Mapping[str, Path]) -> None:
    """A fork for a person: what it became, and where it left its parent."""
    screen.line(Span("FORK", "bold"), f"  {result.run_id}", Span(f"  {result.seconds:.2f} s", "dim"))
    screen.labelled("of run", result.parent_run_id)
    screen.labelled("ended in", Span(ending(result.ended), "good" if result.ended == "OK" else "warn"))
    for impurity in (*result.verdict.missing, *result.verdict.taints):
        screen.labelled(Span("not pure", "warn"), impurity)
    if "html" in files:
        screen.labelled("report", Span(str(files["html"]), "link"))
    divergence = result.verdict.first_divergence
    if divergence is not None:
        show_divergence(screen, replace(divergence, sentence=sentence(divergence, SIDES)), SIDES)
    elif result.verdict.status is VerdictStatus.LIMITED:
        screen.line("  ", "As far as it came, the fork did what its parent did.")
    else:
        screen.line("  ", "The fork did what its parent did.")
