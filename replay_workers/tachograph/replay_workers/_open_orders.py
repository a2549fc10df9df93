"""What a recording leaves open, noted in passing: what an attempt takes one way is an alternative for another one."""

from __future__ import annotations

from collections import deque

from tachograph.replay_workers._alternatives import Alternative, Otherwise, behind_value
from tachograph.replay_workers._permutation import neighbours, order_of_rank, rank_of
from tachograph.replay_workers._places import Place
from tachograph.replay_workers._sequences import Arranged, members

_ALTERNATIVES_MAX = 256
_BEHIND_MAX = 16
_PERMUTED_MAX = 8
"""Longer sequences keep the order they were given in."""


class OpenOrders:
    """The alternatives to an attempt, and what it takes differently itself."""

    def __init__(self, otherwise: Otherwise) -> None:
        self._alternatives: list[Alternative] = []
        self._amid: deque[Alternative] = deque(maxlen=_ALTERNATIVES_MAX)
        """The latest, of which there are many."""
        self._otherwise = otherwise
        self._orders = 0

    @property
    def alternatives(self) -> list[Alternative]:
        """What may have happened in another order."""
        return [*self._alternatives, *self._amid]

    def add(self, what: str, key: int, value: int, hlc: int, *, urgent: bool = False) -> None:
        """The recording leaves this open."""
        if len(self._alternatives) < _ALTERNATIVES_MAX:
            self._alternatives.append(Alternative(what, key, value, hlc, urgent))

    def amid(self, place: Place, before: int, turn: int, hlc: int) -> None:
        """A result that is heard of behind so many others may have come behind fewer: a thread asks for no turn."""
        for behind in range(min(before - 1, _BEHIND_MAX), 0, -1):
            self._amid.append(Alternative("behind", place.index, behind_value(turn, behind), hlc))

    def arranged(self, count: int, reached: int, *, opened: bool) -> Arranged:
        """In which order to take some things that the recording took in an unknown one.

        Args:
            count: how many there are.
            reached: the clock that the unit has come to.
            opened: whether all other orders are alternatives from now on; else they are once one of them goes astray.
        """
        number = self._orders
        self._orders += 1
        rank = self._otherwise.orders.get(number, 0)
        order = order_of_rank(rank, count) if count <= _PERMUTED_MAX else list(range(count))
        if opened and count <= _PERMUTED_MAX:
            for other in neighbours(order):
                self.add("order", number, rank_of(other), reached)
        return Arranged(number, order)

    def astray(self, hlc: int) -> None:
        """The step that is taken here is not the recorded one: what it belongs to may have come in another order.

        Args:
            hlc: of the recorded step.
        """
        for member in members():
            for rank in member.later_first():
                self.add("order", member.sequence.number, rank, hlc, urgent=True)
