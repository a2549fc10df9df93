"""A time line as a space-time diagram: a lane per agent, time downwards, messages as arrows. Pure geometry, in pixels."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tachograph.replay_workers._report_plain import clip, plain
from tachograph.replay_workers._report_values import Row, RowKind, Timeline
from tachograph.replay_workers._report_window import gaps

LANES_MAX = 16
"""More agents than this share the last lane."""
HUES = 8
"""Colours of lanes, used in turn."""

_ROW = 23
_GAP = 30
_FLAG = 20
"""Room above the first divergence."""
_HEAD = 18
_TOP = 14
_TIME_RIGHT = 58
_LANE = 27
_SLOT = 7
_SLOTS_MAX = 3
_CHARACTER = 6.95
_TEXT_COLUMNS = 62
_COLUMNS = 108
"""Of monospaced text in a row, agent and outcome included."""


@dataclass(frozen=True, slots=True)
class Lane:
    """An agent's line of life."""

    name: str
    hue: int
    x: float
    label_y: float
    first_y: float
    last_y: float


@dataclass(frozen=True, slots=True)
class Bar:
    """A call that something else happened in."""

    x: float
    y: float
    height: float
    hue: int


@dataclass(frozen=True, slots=True)
class Arrow:
    """A message; a stub where its other end is not shown."""

    x1: float
    y1: float
    x2: float
    y2: float
    is_stub: bool


@dataclass(frozen=True, slots=True)
class Line:
    """A row as it is drawn."""

    row: Row
    x: float
    y: float
    hue: int
    time: str
    text: str
    outcome: str


@dataclass(frozen=True, slots=True)
class Gap:
    """Rows left out."""

    y: float
    text: str


@dataclass(frozen=True, slots=True)
class Diagram:
    """Everything to draw."""

    width: float
    height: float
    text_x: float
    lanes: tuple[Lane, ...] = ()
    bars: tuple[Bar, ...] = ()
    arrows: tuple[Arrow, ...] = ()
    lines: tuple[Line, ...] = ()
    gaps: tuple[Gap, ...] = ()
    agents_in_last_lane: int = 0


GLYPHS: dict[RowKind, str] = {
    "start": "M-7-1h14v3h-14z",
    "end": "M-7-2h14v3h-14z",
    "call": "M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0-9 0z",
    "read": "M-2.5 0a2.5 2.5 0 1 0 5 0a2.5 2.5 0 1 0-5 0z",
    "back": "M-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0-7 0z",
    "send": "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z",
    "receive": "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z",
    "effect": "M0-7L7 0L0 7L-7 0z",
    "unknown": "M0-9L9 0L0 9L-9 0z",
    "failed": "M-5-3.5L-3.5-5L0-1.5L3.5-5L5-3.5L1.5 0L5 3.5L3.5 5L0 1.5L-3.5 5L-5 3.5L-1.5 0z",
    "fact": "M-3.5-3.5h7v7h-7z",
    "note": "M0-5L5 4h-10z",
}
"""SVG paths around the origin."""


def diagram_of(timeline: Timeline) -> Diagram:
    """Lay a time line out."""
    rows = timeline.rows
    agents = list(dict.fromkeys(row.agent_id for row in rows))
    places = {agent: min(place, LANES_MAX - 1) for place, agent in enumerate(agents)}
    lanes_count = min(len(agents), LANES_MAX)
    ys, breaks, height = _heights(timeline, _TOP + lanes_count * _HEAD)
    xs = {agent: float(_TIME_RIGHT + 22 + place * _LANE) for agent, place in places.items()}
    text_x = _TIME_RIGHT + 22 + lanes_count * _LANE
    return Diagram(
        width=text_x + _COLUMNS * _CHARACTER + 8,
        height=height,
        text_x=text_x,
        lanes=tuple(_lanes(rows, agents, xs, ys)),
        bars=tuple(_bars(rows, places, xs, ys)),
        arrows=tuple(_arrows(rows, xs, ys)),
        lines=tuple(_line(row, y, xs[row.agent_id], places[row.agent_id]) for row, y in zip(rows, ys, strict=True)),
        gaps=breaks,
        agents_in_last_lane=len(agents) - LANES_MAX + 1 if len(agents) > LANES_MAX else 0,
    )


def _heights(timeline: Timeline, top: float) -> tuple[list[float], tuple[Gap, ...], float]:
    """Where each row stands, where rows are left out, and where all ends."""
    left_out = dict(gaps([row.number for row in timeline.rows], timeline.rows_total))
    y = top
    ys: list[float] = []
    breaks: list[Gap] = []
    for position in range(len(timeline.rows) + 1):
        if position in left_out:
            count = left_out[position]
            breaks.append(Gap(y + _GAP / 2, f"{count:,} row{'' if count == 1 else 's'} not shown"))
            y += _GAP
        if position < len(timeline.rows):
            y += _FLAG if timeline.rows[position].is_first_divergence else 0
            ys.append(y + _ROW / 2)
            y += _ROW
    return ys, tuple(breaks), y + 6


def _lanes(rows: Sequence[Row], agents: Sequence[str], xs: dict[str, float], ys: Sequence[float]) -> Iterator[Lane]:
    first: dict[str, float] = {}
    last: dict[str, float] = {}
    for row, y in zip(rows, ys, strict=True):
        first.setdefault(row.agent_id, y)
        last[row.agent_id] = y
    for place, agent in enumerate(agents[:LANES_MAX]):
        shared = agents[place:] if place == LANES_MAX - 1 and len(agents) > LANES_MAX else [agent]
        name = plain(agent) if len(shared) == 1 else f"{len(shared)} more agents"
        low, high = min(first[one] for one in shared), max(last[one] for one in shared)
        yield Lane(clip(name, 60), place % HUES, xs[agent], _TOP + place * _HEAD, low, high)


def _bars(rows: Sequence[Row], places: dict[str, int], xs: dict[str, float], ys: Sequence[float]) -> Iterator[Bar]:
    """Calls that overlap stand beside each other, as long as there is room in the lane."""
    started: dict[tuple[str, int, int], tuple[float, int]] = {}
    for row, y in zip(rows, ys, strict=True):
        if row.call is None:
            continue
        if row.call not in started:
            taken = {slot for call, (_, slot) in started.items() if call[:2] == row.call[:2]}
            slot = next((free for free in range(_SLOTS_MAX) if free not in taken), _SLOTS_MAX - 1)
            started[row.call] = (y, slot)
            continue
        begun, slot = started.pop(row.call)
        yield Bar(xs[row.agent_id] + 3 + slot * _SLOT, begun, y - begun, places[row.agent_id] % HUES)


def _arrows(rows: Sequence[Row], xs: dict[str, float], ys: Sequence[float]) -> Iterator[Arrow]:
    sent: dict[str, tuple[float, float, float]] = {}
    for row, y in zip(rows, ys, strict=True):
        x = xs[row.agent_id]
        if row.message_id is None:
            continue
        if row.kind == "send":
            side = 1 if row.towards is None or xs.get(row.towards, x + 1) >= x else -1
            sent[row.message_id] = (x, y, x + side * _LANE * 0.6)
        elif row.message_id in sent:
            from_x, from_y, _ = sent.pop(row.message_id)
            yield _between(from_x, from_y, x, y)
        else:
            side = -1 if xs.get(row.towards or "", x - 1) < x else 1
            yield Arrow(x + side * _LANE * 0.6, y - 5, x + side * 5, y - 1, is_stub=True)
    for x, y, to in sent.values():
        yield Arrow(x, y, to, y + 5, is_stub=True)


def _between(x1: float, y1: float, x2: float, y2: float) -> Arrow:
    """From edge to edge of the two marks."""
    length = max(((x2 - x1) ** 2 + (y2 - y1) ** 2) ** 0.5, 1.0)
    dx, dy = (x2 - x1) / length, (y2 - y1) / length
    starts = round(x1 + 5 * dx, 1), round(y1 + 5 * dy, 1)
    ends = round(x2 - 6 * dx, 1), round(y2 - 6 * dy, 1)
    return Arrow(*starts, *ends, is_stub=False)


def _line(row: Row, y: float, x: float, place: int) -> Line:
    columns = _COLUMNS - _columns(row.agent_id) - 2
    arrow = 3 if row.outcome else 0
    outcome = _fitted(row.outcome, max(columns - arrow - min(_columns(row.text), _TEXT_COLUMNS), 12))
    text = _fitted(row.text, columns - arrow - _columns(outcome))
    return Line(row, x, y, place % HUES, f"{row.at_ms / 1000:+.3f}", text, outcome)


def _fitted(text: str, columns: int) -> str:
    """Text cut to columns, wide characters counting twice."""
    if _columns(text) <= columns:
        return text
    kept = text
    while kept and _columns(kept) > columns - 1:
        kept = kept[: max(len(kept) - max((_columns(kept) - columns + 1) // 2, 1), 0)]
    return kept + "…"


def _columns(text: str) -> int:
    if text.isascii():
        return len(text)
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)
