"""What a recording leaves open, and what an attempt takes differently from the first one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace


@dataclass(frozen=True, slots=True)
class Alternative:
    """Something that may have happened otherwise."""

    what: str
    """`early`: a result arrives first in a turn. `behind`: behind some others. `waits`: a call waited for what came in
    meanwhile. `order`: some things are taken in another order."""
    key: int
    """Index of the place; number of the sequence."""
    value: int
    """The turn; the same with how many come first, as in `behind_value`; the number of the permutation."""
    hlc: int
    """Where in the recording it is open."""
    urgent: bool = False
    """The replay went astray just there."""


@dataclass(frozen=True, slots=True)
class Otherwise:
    """What an attempt does differently from the first one."""

    early: Mapping[int, int] = field(default_factory=dict[int, int])
    orders: Mapping[int, int] = field(default_factory=dict[int, int])
    waits: Mapping[int, int] = field(default_factory=dict[int, int])
    behind: Mapping[int, int] = field(default_factory=dict[int, int])
    """How many come before what would be first."""

    def with_(self, one: Alternative) -> Otherwise:
        """This, and one thing more."""
        if one.what == "early":
            behind = {key: count for key, count in self.behind.items() if key != one.key}
            return replace(self, early={**self.early, one.key: one.value}, behind=behind)
        if one.what == "behind":
            turn, count = divmod(one.value, _BEHIND)
            return replace(self, early={**self.early, one.key: turn}, behind={**self.behind, one.key: count})
        if one.what == "waits":
            return replace(self, waits={**self.waits, one.key: one.value})
        return replace(self, orders={**self.orders, one.key: one.value})

    @property
    def key(self) -> tuple[tuple[tuple[int, int], ...], ...]:
        """Equal for what is equal."""
        return tuple(tuple(sorted(taken.items())) for taken in (self.early, self.orders, self.waits, self.behind))


_BEHIND = 1 << 10


def behind_value(turn: int, behind: int) -> int:
    """A turn, and how many come first in it."""
    return turn * _BEHIND + behind
