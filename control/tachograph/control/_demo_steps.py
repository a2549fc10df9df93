"""The steps of a demo: what was claimed, whether it is so, and how a person reads it."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tachograph.control._answer import Answer, Document
from tachograph.control._exit import ExitCode
from tachograph.control._homes import short_ids
from tachograph.control._screen import Part, Screen, Span
from tachograph.control._settings import HOME_DEFAULT

SIGNATURE = "SIDE_EFFECT_UNKNOWN_RETRY_DUPLICATE"
"""The incident's name."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step of the story: what was claimed, and whether it is so."""

    title: str
    told: tuple[Part, ...]
    holds: bool
    evidence: str
    """What was found, for the JSON document and for a step that does not hold."""


def answer_of(run_id: str, steps: Sequence[Step], home: Path, before: str = "") -> Answer:
    """The demo's answer.

    Args:
        run_id: the recorded incident.
        steps: as they came out.
        home: where to look at it.
        before: what is typed before each command.
    """
    document: dict[str, Document] = {
        "run_id": run_id,
        "steps": [{"title": step.title, "holds": step.holds, "evidence": step.evidence} for step in steps],
    }
    code = ExitCode.OK if all(step.holds for step in steps) else ExitCode.DIFFERENT
    return Answer(document, lambda screen: _render(screen, run_id, steps, home, before), code)


def _render(screen: Screen, run_id: str, steps: Sequence[Step], home: Path, before: str) -> None:
    screen.line(Span("An agent answers a customer, the connection drops at the wrong moment.", "bold"))
    for number, step in enumerate(steps, 1):
        screen.line()
        screen.line(Span(f"{number}. {step.title}", "bold"))
        if step.holds:
            screen.wrapped(step.told, indent=3)
        else:
            screen.wrapped((Span("NOT AS TOLD", "bad"), f": {step.evidence}"), indent=3)
    at = "" if str(home) == HOME_DEFAULT else f"--home {home} "
    screen.line()
    screen.line("See for yourself:")
    for command in ("show", "timeline", "replay"):
        screen.line("   ", Span(f"{before}{_program()} {at}{command} {short_ids([run_id])[run_id]}", "link"))


def _program() -> str:
    """What to type: `tacho` where the shell finds it, else the path it was started by."""
    return "tacho" if shutil.which("tacho") else sys.argv[0]
