"""Output to a terminal: everything that is printed passes through here and is escaped."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TextIO

from tachograph.control._escape import clip, escape, width

Style = Literal["plain", "bold", "dim", "good", "warn", "bad", "effect", "link"]
_CODES: dict[Style, str] = {
    "bold": "1",
    "dim": "2",
    "good": "32",
    "warn": "33",
    "bad": "1;31",
    "effect": "35",
    "link": "36",
}


@dataclass(frozen=True, slots=True)
class Span:
    """Text with a style."""

    text: str
    style: Style = "plain"


Part = str | Span
_WORD = re.compile(r"\S+\s*|\s+")
_TEXT_COLUMNS_MAX = 100
"""Longer lines are hard to read."""
_LABEL_COLUMNS = 13
_CELL_COLUMNS_MAX = 48
"""A run id takes 36."""


@dataclass(frozen=True, slots=True)
class Screen:
    """Where a command's text goes."""

    out: TextIO
    colour: bool = False
    columns: int = 100

    def line(self, *parts: Part) -> None:
        """Print one line. Line breaks inside a part are spelled out like every other control character."""
        self.out.write("".join(map(self._shown, parts)).rstrip(" ") + "\n")

    def labelled(self, label: Part, *parts: Part) -> None:
        """Print running text behind a label; further lines stand below the text."""
        span = _span(label)
        gap = " " * max(_LABEL_COLUMNS - width(span.text), 1)
        self.wrapped(parts, indent=_LABEL_COLUMNS + 2, head=("  ", span, gap))

    def wrapped(self, parts: Sequence[Part], *, indent: int, head: Sequence[Part] = ()) -> None:
        """Print running text, broken between words at the edge of the screen.

        Args:
            parts: the text.
            indent: columns left free.
            head: stands in the free columns of the first line.
        """
        words = [Span(word, span.style) for span in map(_span, parts) for word in _WORD.findall(span.text)]
        line: list[Part] = [*head] if head else [" " * indent]
        used = indent
        for word in words:
            if used > indent and used + width(word.text.rstrip()) > min(self.columns, _TEXT_COLUMNS_MAX):
                self.line(*line)
                line = [" " * indent]
                used = indent
            line.append(word)
            used += width(word.text)
        self.line(*line)

    def table(self, header: Sequence[str], rows: Sequence[Sequence[Part]], *, indent: int = 0) -> None:
        """Print rows in aligned columns; the last one is clipped at the edge of the screen."""
        cells = [[_cell(part) for part in row[:-1]] + [_span(part) for part in row[-1:]] for row in rows]
        top = [Span(title, "dim") for title in header]
        widths = [max(width(row[i].text) for row in [top, *cells]) for i in range(len(header))]
        for row in [top, *cells]:
            self.line(" " * indent, *self._aligned(row, widths, self.columns - indent))

    def _aligned(self, row: Sequence[Span], widths: Sequence[int], free: int) -> list[Part]:
        parts: list[Part] = []
        for position, (cell, columns) in enumerate(zip(row, widths, strict=True)):
            last = position == len(row) - 1
            text = clip(cell.text, max(free, 12)) if last else cell.text
            parts.append(Span(text, cell.style))
            if not last:
                parts.append(" " * (columns - width(cell.text) + 2))
                free -= columns + 2
        return parts

    def _shown(self, part: Part) -> str:
        span = _span(part)
        if not self.colour or span.style == "plain" or not span.text:
            return span.text
        return f"\x1b[{_CODES[span.style]}m{span.text}\x1b[0m"


def _cell(part: Part) -> Span:
    """The part, harmless and not so wide that nothing fits beside it."""
    span = _span(part)
    return Span(clip(span.text, _CELL_COLUMNS_MAX), span.style)


def _span(part: Part) -> Span:
    """The part, harmless."""
    if isinstance(part, Span):
        return Span(escape(part.text), part.style)
    return Span(escape(part))
