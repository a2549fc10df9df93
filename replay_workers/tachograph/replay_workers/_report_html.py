"""A report as one self-contained page: no scripts, nothing loaded from anywhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from tachograph.core.replay import Verdict
from tachograph.core.state import SignatureHit
from tachograph.replay_workers._report_diagram import GLYPHS, diagram_of
from tachograph.replay_workers._report_divergence import shown_divergence
from tachograph.replay_workers._report_template import filled
from tachograph.replay_workers._report_values import Kind, Report, RunFacts
from tachograph.replay_workers._report_words import (
    agents_count,
    code_meaning,
    grade_meaning,
    kind_meaning,
    level_meaning,
    level_word,
    levels_of,
    title_of,
)

_SENTENCES_MAX = 100


def report_html(report: Report) -> str:
    """The page.

    Raises:
        InvalidSetting: Jinja is not installed.
    """
    first = report.verdict.first_divergence
    others = [one for one in report.verdict.divergences if one != first]
    values: dict[str, object] = {
        "report": report,
        "verdict": report.verdict,
        "is_fork": report.kind == "fork",
        "kind_meaning": kind_meaning(report.kind),
        "levels": _levels(report.kind, report.verdict),
        "divergence": shown_divergence(first, report.kind) if first is not None else None,
        "other_divergences": [shown_divergence(one, report.kind) for one in others[:10]],
        "agents": agents_count(report),
        "code_meaning": code_meaning(report.verdict),
        "runs": _runs(report),
        "served": _counts(report.verdict.served),
        "live": _counts(report.verdict.live),
        "diagram": diagram_of(report.timeline),
        "glyphs": GLYPHS,
        "numbers": {row.event_id: row.number for row in report.timeline.rows},
        "incident": title_of(report.parent, "") if report.parent is not None else "",
        "grade_meaning": grade_meaning,
        "groups": _groups,
        "short": _short(report),
        "moment": _moment,
        "duration": _duration,
        "sentences_max": _SENTENCES_MAX,
    }
    return filled("report.html.jinja", values)


def _levels(kind: Kind, verdict: Verdict) -> list[dict[str, str]]:
    return [
        {"name": name, "level": level, "word": level_word(kind, level), "meaning": level_meaning(name, level, verdict)}
        for name, level in levels_of(verdict)
    ]


def _runs(report: Report) -> list[tuple[str, RunFacts]]:
    """The runs that a page tells of, each with whose things they are."""
    names = ("fork", "parent") if report.kind == "fork" else ("run", "parent")
    pairs = zip(names, (report.run, report.parent), strict=True)
    return [(name, run) for name, run in pairs if run is not None]


def _groups(hits: Sequence[SignatureHit]) -> list[list[SignatureHit]]:
    """Signatures of one name together, in the order in which the names come."""
    groups: dict[str, list[SignatureHit]] = {}
    for hit in hits:
        groups.setdefault(hit.name, []).append(hit)
    return list(groups.values())


class _Shortener:
    """Event ids without the run that the page is about anyway."""

    def __init__(self, prefixes: tuple[str, ...]) -> None:
        self._prefixes = prefixes

    def __call__(self, text: str) -> str:
        for prefix in self._prefixes:
            text = text.replace(prefix, "")
        return text


def _short(report: Report) -> _Shortener:
    return _Shortener(tuple(f"{run.run_id}/" for run in (report.run, report.parent) if run is not None))


def _counts(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    return [(kind, count) for kind, count in sorted(counts.items(), key=lambda item: -item[1]) if count]


def _moment(at_us: int | None) -> str:
    if at_us is None:
        return "unknown"
    try:
        return datetime.fromtimestamp(at_us / 1_000_000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (ValueError, OverflowError, OSError):
        return f"{at_us} µs since 1970"


def _duration(seconds: float | None) -> str:
    if seconds is None:
        return "unknown"
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:,.2f} s"
