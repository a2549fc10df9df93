"""Permutations as numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence


def rank_of(order: Sequence[int]) -> int:
    """The number of a permutation among all of its length; 0 is the ascending one."""
    rank = 0
    left = sorted(order)
    for item in order:
        rank = rank * len(left) + left.index(item)
        left.remove(item)
    return rank


def order_of_rank(rank: int, count: int) -> list[int]:
    """The inverse of `rank_of`."""
    digits: list[int] = []
    for base in range(1, count + 1):
        digits.append(rank % base)
        rank //= base
    left = list(range(count))
    return [left.pop(digit) for digit in reversed(digits)]


def neighbours(order: Sequence[int]) -> Iterator[list[int]]:
    """The permutations in which one item stands further to the front; the smallest changes first."""
    count = len(order)
    for at in range(count):
        for item in range(at + 1, count):
            changed = list(order)
            changed.insert(at, changed.pop(item))
            yield changed
