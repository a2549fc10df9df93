"""Drawing a timeline with characters: agents side by side, time downwards, messages as arrows."""

from __future__ import annotations

from collections.abc import Sequence

from tachograph.control._escape import clip, escape, width
from tachograph.control._screen import Part, Screen, Span, Style
from tachograph.control._timeline import Lane, Row, RowKind, Timeline

LANES_MAX = 24
"""More lanes than this leave no room for words on 120 columns: the rest shares the last lane."""

_MARKS: dict[RowKind, tuple[str, Style]] = {
    "start": ("┬", "bold"),
    "call": ("●", "plain"),
    "read": ("·", "dim"),
    "effect": ("■", "effect"),
    "unknown": ("?", "bad"),
    "failed": ("✗", "warn"),
    "back": ("○", "plain"),
    "send": ("●", "link"),
    "receive": ("○", "link"),
    "fact": ("+", "dim"),
    "end": ("┴", "bold"),
    "note": ("!", "warn"),
}
_ARROW = " → "
LEGEND = "● call  ■ effect  ? UNKNOWN or never came back  ✗ failed  ○ came back, received  · clock, random, id  + state"


def draw(timeline: Timeline, screen: Screen) -> None:
    """Print the diagram."""
    lanes = {lane.agent_id: min(place, LANES_MAX - 1) for place, lane in enumerate(timeline.lanes)}
    _heads(timeline.lanes, screen)
    names = max((width(escape(lane.agent_id)) for lane in timeline.lanes), default=0)
    for number, row in enumerate(timeline.rows):
        prefix: list[Part] = [Span(f"{row.at_ms / 1000:>+9.3f}  ", "dim")]
        prefix += _lane_parts(row, number, timeline.lanes, lanes)
        name = escape(row.agent_id)
        prefix.append(Span(" " + name + " " * (names - width(name) + 2), "bold"))
        used = 11 + 2 * min(len(timeline.lanes), LANES_MAX) + names + 3
        screen.line(*prefix, Span(_words(row, max(screen.columns - used, 32)), _MARKS[row.kind][1]))
    screen.line(Span(f"{LEGEND}; times in seconds", "dim"))


def _words(row: Row, columns: int) -> str:
    """What a row says; where it is too long, text and outcome share the room."""
    text, outcome = escape(row.text), escape(row.outcome)
    if not outcome:
        return clip(text, columns)
    free = columns - len(_ARROW)
    outcome = clip(outcome, max(free // 2, free - width(text)))
    return clip(text, free - width(outcome)) + _ARROW + outcome


def _heads(lanes: Sequence[Lane], screen: Screen) -> None:
    """A staircase that names the lanes."""
    for place, lane in enumerate(lanes[:LANES_MAX]):
        role = f" ({lane.role})" if lane.role else ""
        screen.line(" " * 11, Span("│ " * place, "dim"), Span(f"┌ {lane.agent_id}", "bold"), Span(role, "dim"))
    if len(lanes) > LANES_MAX:
        screen.line(Span(f"{len(lanes) - LANES_MAX} more agents share the last lane", "warn"))


def _lane_parts(row: Row, number: int, lanes: Sequence[Lane], places: dict[str, int]) -> list[Part]:
    cells = ["  "] * min(len(lanes), LANES_MAX)
    for lane in lanes:
        if lane.first <= number <= lane.last:
            cells[places[lane.agent_id]] = "│ "
    own = places[row.agent_id]
    mark, style = _MARKS[row.kind]
    other = places.get(row.towards, own) if row.towards is not None else own
    if other != own and row.kind == "send":
        return _arrow(cells, own, other, mark, style)
    cells[own] = mark + " "
    return [Span("".join(cells[:own]), "dim"), Span(cells[own], style), Span("".join(cells[own + 1 :]), "dim")]


def _arrow(cells: list[str], own: int, other: int, mark: str, style: Style) -> list[Part]:
    low, high = min(own, other), max(own, other)
    span = (mark if low == own else "◀") + "─" * (2 * (high - low) - 1) + (mark if high == own else "▶") + " "
    return [Span("".join(cells[:low]), "dim"), Span(span, style), Span("".join(cells[high + 1 :]), "dim")]
