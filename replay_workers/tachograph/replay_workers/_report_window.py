"""Which rows of a long time line are shown: those around what matters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

ROWS_MAX = 300
"""About eight screens; a run of any length stays a page that a person can read and a phone can draw."""

_AROUND_DIVERGENCE = 40
_AROUND = 6
_AT_THE_ENDS = 4


@dataclass(frozen=True, slots=True)
class Anchor:
    """A row that matters."""

    number: int
    weight: int
    """Lower is more important: 0 a divergence, 1 an UNKNOWN effect, 2 what signatures name, 3 effects, 4 failures."""


def window(rows_total: int, anchors: Iterable[Anchor], rows_max: int = ROWS_MAX) -> list[int]:
    """Numbers of the rows to show, ascending: all where they fit, else the surroundings of anchors, by importance."""
    if rows_total <= rows_max:
        return list(range(rows_total))
    chosen: set[int] = set()
    chosen.update(range(_AT_THE_ENDS), range(rows_total - _AT_THE_ENDS, rows_total))
    ordered = sorted(anchors, key=lambda anchor: (anchor.weight, anchor.number))
    for reach in (0, _AROUND):
        for anchor in ordered:
            _take(chosen, anchor, _AROUND_DIVERGENCE if anchor.weight == 0 else reach, rows_total, rows_max)
    if not ordered:
        _fill(chosen, range(rows_total), rows_max)
    return sorted(chosen)


def _take(chosen: set[int], anchor: Anchor, reach: int, rows_total: int, rows_max: int) -> None:
    """The row itself first, then outwards from it."""
    for distance in range(reach + 1):
        near = (anchor.number - distance, anchor.number + distance)
        _fill(chosen, [number for number in near if 0 <= number < rows_total], rows_max)


def _fill(chosen: set[int], numbers: Iterable[int], rows_max: int) -> None:
    for number in numbers:
        if len(chosen) >= rows_max:
            return
        chosen.add(number)


def gaps(numbers: Sequence[int], rows_total: int) -> list[tuple[int, int]]:
    """(position among the shown rows, how many are left out before it) of each gap."""
    found: list[tuple[int, int]] = []
    previous = -1
    for position, number in enumerate([*numbers, rows_total]):
        if number > previous + 1:
            found.append((position, number - previous - 1))
        previous = number
    return found
