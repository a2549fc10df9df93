"""`tacho diff`: where two recorded runs part."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from tachograph.control._answer import Answer, Document
from tachograph.control._documents import divergence_document
from tachograph.control._exit import ExitCode
from tachograph.control._homes import load_run, open_home, resolve_run
from tachograph.control._parser import Commands, add_command, add_run
from tachograph.control._screen import Screen, Span
from tachograph.control._settings import Settings
from tachograph.control._verdict_text import show_divergence
from tachograph.core.replay import Divergence, StreamSteps, compare, steps_of
from tachograph.stores import Home

Streams = Mapping[tuple[str, int], StreamSteps]


def register(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "diff",
        "compare two recorded runs and name the first place where they part",
        _diff,
        epilog="Exit codes: 0 the same steps; 1 they part.",
    )
    add_run(parser, "a", "the run that counts as the recording")
    add_run(parser, "b", "the run that is held against it")


def _diff(arguments: argparse.Namespace, settings: Settings) -> Answer:
    home = open_home(settings)
    one, other = (resolve_run(home, str(text)) for text in (arguments.a, arguments.b))
    first, second = _steps(home, one), _steps(home, other)
    found = sorted(_divergences(first, second), key=lambda divergence: divergence.hlc)
    only = sorted(f"{agent}#{life}" for agent, life in set(first) ^ set(second))
    document: dict[str, Document] = {
        "a": one,
        "b": other,
        "same": not found and not only,
        "first_divergence": divergence_document(found[0]) if found else None,
        "divergences": [divergence_document(divergence) for divergence in found],
        "streams_in_one_only": list(only),
    }
    code = ExitCode.DIFFERENT if found or only else ExitCode.OK
    return Answer(document, lambda screen: _render(screen, one, other, found, only), code)


def _steps(home: Home, run_id: str) -> Streams:
    return steps_of(load_run(home, run_id).events, home.body)


def _divergences(first: Streams, second: Streams) -> list[Divergence]:
    found = [compare(first[stream].steps, second[stream].steps) for stream in first if stream in second]
    return [divergence for divergence in found if divergence is not None]


def _render(screen: Screen, one: str, other: str, found: list[Divergence], only: list[str]) -> None:
    if not found and not only:
        screen.line(Span("SAME", "good"), "  both runs took the same steps")
        return
    screen.line(Span("DIFFERENT", "bad"), f"  recorded: {one}, replayed: {other}")
    for stream in only:
        screen.line("  ", f"agent {stream} is in one of the runs only")
    if found:
        show_divergence(screen, found[0])
        if len(found) > 1:
            screen.line(f"  {len(found) - 1} more agents part later (`--json` has them all)")
