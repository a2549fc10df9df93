"""`tacho topics ensure`: make a cluster's topics, and tell how those that are there differ."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from tachograph.control._answer import Answer, Document
from tachograph.control._exit import ExitCode
from tachograph.control._parser import Commands, add_command
from tachograph.control._screen import Part, Screen
from tachograph.control._services import topics_service
from tachograph.control._settings import Settings
from tachograph.core.errors import InvalidSetting
from tachograph.core.ports import TopicDifference, TopicReport


def register(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(commands, "topics", "make the topics of the cluster, and tell how they differ", _topics)
    parser.add_argument("action", choices=("ensure", "check"), help="`check` makes nothing")
    parser.add_argument("--config", metavar="FILE", help="TOML file with numbers of partitions, copies, hours")


def _topics(arguments: argparse.Namespace, settings: Settings) -> Answer:
    del settings
    if arguments.config == "":
        raise InvalidSetting("--config", "", "name a file, or leave the option out")
    config = None if arguments.config is None else Path(str(arguments.config))
    report = topics_service()(config, create=arguments.action == "ensure")
    document: dict[str, Document] = {
        "created": list(report.created),
        "unchanged": list(report.unchanged),
        "drift": [
            {"topic": each.topic, "what": each.what, "planned": each.planned, "found": each.found}
            for each in report.drift
        ],
    }
    code = ExitCode.DIFFERENT if report.drift else ExitCode.OK
    return Answer(document, lambda screen: _render(screen, report), code)


def _render(screen: Screen, report: TopicReport) -> None:
    screen.line(f"{len(report.created)} topics made, {len(report.unchanged)} there as planned")
    if report.drift:
        screen.line("Not as planned, and left so:")
        screen.table(["TOPIC", "WHAT", "PLANNED", "FOUND"], _rows(report.drift))


def _rows(drift: Sequence[TopicDifference]) -> list[list[Part]]:
    return [[each.topic, each.what, each.planned, each.found] for each in drift]
