"""A verdict for a person: readable in ten seconds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tachograph.control._screen import Part, Screen, Span, Style
from tachograph.core.replay import Divergence, Level, Sides, Verdict, VerdictStatus, explain

STATUS_STYLE: dict[VerdictStatus, Style] = {
    VerdictStatus.REPRODUCED: "good",
    VerdictStatus.DIVERGED: "bad",
    VerdictStatus.LIMITED: "warn",
}
_LEVEL_STYLE: dict[Level, Style] = {"reproduced": "good", "diverged": "bad", "not_proved": "warn"}
_LISTED_MAX = 8


def status_span(status: VerdictStatus) -> Span:
    """The status, as it shows everywhere."""
    return Span(status.value.upper(), STATUS_STYLE[status])


def show_verdict(screen: Screen, verdict: Verdict) -> None:
    """The three levels, what was served, what is missing, and the first divergence."""
    counted = f"{_steps(verdict)}, {verdict.agents} agents"
    steps = counted if verdict.steps_recorded else "no step was replayed"
    levels: tuple[tuple[str, Level, str], ...] = (
        ("control flow", verdict.control_flow, steps),
        ("state", verdict.state, ""),
        ("content", verdict.content, ""),
    )
    for name, level, more in levels:
        screen.labelled(name, Span(f"{level.replace('_', ' '):<11}", _LEVEL_STYLE[level]), more)
    screen.labelled("answers", *_answers(verdict))
    _listed(screen, "missing", verdict.missing, "warn")
    _listed(screen, "not pure", verdict.taints, "warn")
    reads = [f"{read.what} at {read.file}:{read.line} ({read.agent_id}). {read.remedy}" for read in verdict.blocked]
    _listed(screen, "bypassed", reads, "warn")
    if verdict.first_divergence is not None:
        show_divergence(screen, verdict.first_divergence)


def _steps(verdict: Verdict) -> str:
    if verdict.steps_replayed > verdict.steps_recorded:
        return f"{verdict.steps_replayed} steps, {verdict.steps_recorded} recorded"
    return f"{verdict.steps_replayed} of {verdict.steps_recorded} steps"


def _answers(verdict: Verdict) -> list[Part]:
    live = sum(verdict.live.values())
    sent: Part = "none sent out" if not live else Span(f"{_counted(verdict.live)} SENT OUT", "bad")
    return [f"{_counted(verdict.served) or 'none'} from the recording, ", sent]


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items()) if count)


def _listed(screen: Screen, name: str, sentences: Sequence[str], style: Style) -> None:
    for place, sentence in enumerate(sentences[:_LISTED_MAX]):
        screen.labelled(Span("" if place else name, style), sentence)
    if len(sentences) > _LISTED_MAX:
        screen.labelled("", f"and {len(sentences) - _LISTED_MAX} more (`--json` has them all)")


def show_divergence(screen: Screen, divergence: Divergence, sides: Sides | None = None) -> None:
    """The first divergence, both sides."""
    screen.line()
    silent = divergence.recorded is None and divergence.replayed is None
    heading = "Past the boundary, no consequence seen" if silent else "First divergence"
    screen.line(Span(heading, "bold"), f"  agent {divergence.agent_id}, step {divergence.step}")
    for line in explain(divergence) if sides is None else explain(divergence, sides):
        screen.line("  ", Span(line, _line_style(line)))


def _line_style(line: str) -> Style:
    mark = line.lstrip()[:2]
    if mark == "- ":
        return "bad"
    return "good" if mark == "+ " else "plain"
