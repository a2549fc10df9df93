"""Sequences of things that the recording took in an unknown order."""

from __future__ import annotations

from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass

from tachograph.replay_workers._permutation import rank_of


@dataclass(frozen=True, slots=True)
class Arranged:
    """A sequence, and the order in which this attempt takes it."""

    number: int
    order: list[int]


@dataclass(frozen=True, slots=True)
class Member:
    """One of a sequence that was started."""

    sequence: Arranged
    place: int

    def later_first(self) -> Iterator[int]:
        """The numbers of the orders in which one of those behind comes in this one's place."""
        order = self.sequence.order
        for at in range(self.place + 1, len(order)):
            changed = list(order)
            changed.insert(self.place, changed.pop(at))
            yield rank_of(changed)


_members: ContextVar[tuple[Member, ...]] = ContextVar("tachograph_sequences", default=())


def entered_sequence(member: Member) -> None:
    """What runs in this context belongs to a member of a sequence."""
    _members.set((member, *_members.get()))


def members() -> tuple[Member, ...]:
    """The sequences that what runs here belongs to, the innermost first."""
    return _members.get()
