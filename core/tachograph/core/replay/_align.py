"""The likeliest first change between what a recording goes on with and what a replay does instead.

An edit distance over steps: a changed payload, an extra step, a missing step and a block of steps in another order cost
one each. Of equally cheap explanations the one that leaves most steps as they were counts; then the one whose changed
payloads are most like what they were; then, in this order: a changed payload, an extra step, a missing one, another order.
So an answer never depends on anything but the two lists.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from enum import IntEnum

from tachograph.core.replay._likeness import UNLIKE, unlikeness
from tachograph.core.replay._values import Step

Identity = tuple[str, str, bytes]
"""A step's kind, name and key."""

_Score = tuple[int, int, int]
"""How good an explanation is, less is better: edits; steps left as they were, negative; how unlike changed payloads are."""


class Edit(IntEnum):
    """One change; the value is its rank among equally good ones."""

    KEPT = 0
    CHANGED = 1
    EXTRA = 2
    MISSING = 3
    MOVED = 4


def identity(step: Step) -> Identity:
    """What is compared of a step."""
    return step.kind, step.name, step.key


def first_edit(recorded: Sequence[Step], replayed: Sequence[Step], *, complete: bool) -> Edit:
    """The first change that turns `recorded` into `replayed`.

    Args:
        recorded: what the recording goes on with.
        replayed: what the replay does instead; `recorded[0]` and `replayed[0]` differ where both exist.
        complete: the replay does nothing more; else it may yet do the rest of the recording.
    """
    return _Table(recorded, replayed, complete=complete).first_edit()


class _Table:
    """The best explanation of every pair of rests, filled from the end."""

    def __init__(self, recorded: Sequence[Step], replayed: Sequence[Step], *, complete: bool) -> None:
        self._recorded = recorded
        self._replayed = replayed
        self._old = [identity(step) for step in recorded]
        self._new = [identity(step) for step in replayed]
        self._complete = complete
        self._scores: list[list[_Score]] = [[(0, 0, 0)] * (len(replayed) + 1) for _ in range(len(recorded) + 1)]

    def first_edit(self) -> Edit:
        edit = Edit.KEPT
        for i in range(len(self._old), -1, -1):
            for k in range(len(self._new), -1, -1):
                self._scores[i][k], edit = self._best(i, k)
        return edit

    def _best(self, i: int, k: int) -> tuple[_Score, Edit]:
        if k == len(self._new):
            rest = len(self._old) - i if self._complete else 0
            return (rest, 0, 0), Edit.MISSING if rest else Edit.KEPT
        options: list[tuple[_Score, Edit]] = []
        if i < len(self._old):
            options += self._paired(i, k)
            options.append((_more(self._scores[i + 1][k]), Edit.MISSING))
            block = self._block(i, k)
            if block:
                options.append((_more(self._scores[i + block][k + block]), Edit.MOVED))
        if self._new[k][0] != "end" or i == len(self._old):  # nothing stands behind an end, so it is no extra step
            options.append((_more(self._scores[i][k + 1]), Edit.EXTRA))
        return min(options)

    def _paired(self, i: int, k: int) -> list[tuple[_Score, Edit]]:
        edits, kept, unlike = self._scores[i + 1][k + 1]
        if self._old[i] == self._new[k]:
            return [((edits, kept - 1, unlike), Edit.KEPT)]
        if self._old[i][:2] == self._new[k][:2]:
            apart = unlikeness(self._recorded[i].arguments, self._replayed[k].arguments)
            return [((edits + 1, kept, unlike + apart), Edit.CHANGED)]
        return []

    def _block(self, i: int, k: int) -> int:
        """Length of the shortest block that holds the same steps on both sides in another order; 0: there is none."""
        if self._old[i] == self._new[k]:
            return 0
        balance: Counter[Identity] = Counter()
        apart = 0
        for length, (old, new) in enumerate(zip(self._old[i:], self._new[k:], strict=False), 1):
            for one, change in ((old, 1), (new, -1)):
                before = balance[one]
                balance[one] = before + change
                apart += (before + change != 0) - (before != 0)
            if apart == 0:
                return length
        return 0


def _more(rest: _Score) -> _Score:
    return rest[0] + 1, rest[1], rest[2] + UNLIKE
