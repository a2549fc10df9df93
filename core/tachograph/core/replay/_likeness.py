"""How much two payloads have in common, cheaply."""

from __future__ import annotations

from collections.abc import Callable

UNLIKE = 1000
"""Nothing in common."""


def unlikeness(one: bytes, other: bytes) -> int:
    """0 for equal payloads, up to `UNLIKE`: the share of the longer one that is neither a common start nor a common end."""
    shorter, longer = sorted((len(one), len(other)))
    if longer == 0:
        return 0
    front = _longest(shorter, lambda length: one[:length] == other[:length])
    back = _longest(shorter - front, lambda length: one[len(one) - length :] == other[len(other) - length :])
    return UNLIKE - UNLIKE * (front + back) // longer


def _longest(most: int, holds: Callable[[int], bool]) -> int:
    """The largest length up to `most` for which it holds; it holds for every shorter one, too."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if holds(middle):
            low = middle
        else:
            high = middle - 1
    return low
