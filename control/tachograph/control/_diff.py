"""`tacho diff`: where two recorded runs part."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import replace

from tachograph.control._answer import Answer, Document
from tachograph.control._documents import divergence_document
from tachograph.control._exit import ExitCode
from tachograph.control._homes import load_run, open_home, resolve_run
from tachograph.control._parser import Commands, add_command, add_run
from tachograph.control._screen import Screen, Span
from tachograph.control._settings import Settings
from tachograph.control._verdict_text import show_divergence
from tachograph.core.causality import EventId
from tachograph.core.replay import Divergence, Sides, StreamSteps, compare, sentence, steps_of
from tachograph.stores import Home

Streams = Mapping[tuple[str, int], StreamSteps]

SIDES = Sides("run A", "run B")
"""Neither is a replay."""


def register(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "diff",
        "compare two recorded runs and name the first place where they part",
        _diff,
        epilog="Exit codes: 0 the same steps; 1 they part.",
    )
    add_run(parser, "a", "run A")
    add_run(parser, "b", "run B, held against it")


def _diff(arguments: argparse.Namespace, settings: Settings) -> Answer:
    home = open_home(settings)
    one, other = (resolve_run(home, str(text)) for text in (arguments.a, arguments.b))
    first, second = _steps(home, one), _steps(home, other)
    found = sorted(_divergences(first, second, one, other), key=lambda divergence: divergence.hlc)
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


def _divergences(first: Streams, second: Streams, one: str, other: str) -> list[Divergence]:
    common = [stream for stream in first if stream in second]
    found = [
        compare(first[stream].steps, second[stream].steps, run_id=one, fixtures=first[stream].fixtures)
        for stream in common
    ]
    return [_of_two_runs(divergence, other) for divergence in found if divergence is not None]


def _of_two_runs(divergence: Divergence, other: str) -> Divergence:
    """The divergence in the words of two recordings; B's step is at an event, too."""
    step = divergence.replayed
    if step is not None and step.seq:
        step = replace(step, where=str(EventId(other, step.agent_id, step.incarnation, step.seq)))
    return replace(divergence, replayed=step, sentence=sentence(divergence, SIDES))


def _render(screen: Screen, one: str, other: str, found: list[Divergence], only: list[str]) -> None:
    if not found and not only:
        screen.line(Span("SAME", "good"), "  both runs took the same steps")
        return
    screen.line(Span("DIFFERENT", "bad"), f"  run A: {one}, run B: {other}")
    for stream in only:
        screen.line("  ", f"agent {stream} is in one of the runs only")
    if found:
        show_divergence(screen, found[0], SIDES)
        more = len(found) - 1
        if more:
            who = "1 more agent parts" if more == 1 else f"{more} more agents part"
            screen.line(f"  {who} later (`--json` has them all)")
