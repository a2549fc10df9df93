"""The likeliest first change between what a recording goes on with and what a replay does instead.

An edit distance over steps: a changed payload, an extra step, a missing step and a block of steps in another order cost
one each. Of equally cheap explanations the one that leaves most steps as they were counts; then, in this order: a changed
payload, an extra step, a missing one, another order. So an answer never depends on anything but the two lists.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

Identity = tuple[str, str, bytes]
"""A step's kind, name and key."""


class Edit(IntEnum):
    """One change; the value is its rank among equally good ones."""

    KEPT = 0
    CHANGED = 1
    EXTRA = 2
    MISSING = 3
    MOVED = 4


@dataclass(frozen=True, slots=True, order=True)
class _Score:
    """How good an explanation is; less is better."""

    edits: int
    kept: int
    """Steps left as they were, negative."""


def first_edit(recorded: Sequence[Identity], replayed: Sequence[Identity], *, complete: bool) -> Edit:
    """The first change that turns `recorded` into `replayed`.

    Args:
        recorded: what the recording goes on with.
        replayed: what the replay does instead; `recorded[0]` and `replayed[0]` differ where both exist.
        complete: the replay does nothing more; else it may yet do the rest of the recording.
    """
    table: list[list[_Score]] = [[] for _ in range(len(recorded) + 1)]
    edit = Edit.KEPT
    for i in range(len(recorded), -1, -1):
        row = table[i] = [_Score(0, 0)] * (len(replayed) + 1)
        for k in range(len(replayed), -1, -1):
            row[k], edit = _cell(recorded, replayed, table, (i, k), complete=complete)
    return edit


def _cell(
    recorded: Sequence[Identity],
    replayed: Sequence[Identity],
    table: list[list[_Score]],
    place: tuple[int, int],
    *,
    complete: bool,
) -> tuple[_Score, Edit]:
    i, k = place
    options: list[tuple[_Score, Edit]] = []
    if k == len(replayed):
        rest = len(recorded) - i if complete else 0
        return _Score(rest, 0), Edit.MISSING if rest else Edit.KEPT
    if i < len(recorded):
        options += _paired(recorded[i], replayed[k], table[i + 1][k + 1])
        options.append((_more(table[i + 1][k]), Edit.MISSING))
        block = _block(recorded, replayed, place)
        if block:
            options.append((_more(table[i + block][k + block]), Edit.MOVED))
    if replayed[k][0] != "end" or i == len(recorded):  # nothing stands behind an end, so it is no extra step
        options.append((_more(table[i][k + 1]), Edit.EXTRA))
    return min(options)


def _paired(recorded: Identity, replayed: Identity, rest: _Score) -> list[tuple[_Score, Edit]]:
    if recorded == replayed:
        return [(_Score(rest.edits, rest.kept - 1), Edit.KEPT)]
    if recorded[:2] == replayed[:2]:
        return [(_more(rest), Edit.CHANGED)]
    return []


def _more(rest: _Score) -> _Score:
    return _Score(rest.edits + 1, rest.kept)


def _block(recorded: Sequence[Identity], replayed: Sequence[Identity], place: tuple[int, int]) -> int:
    """Length of the shortest block that holds the same steps on both sides in another order; 0: there is none."""
    i, k = place
    if recorded[i] == replayed[k]:
        return 0
    balance: Counter[Identity] = Counter()
    open_identities = 0
    for length, (old, new) in enumerate(zip(recorded[i:], replayed[k:], strict=False), 1):
        for identity, change in ((old, 1), (new, -1)):
            before = balance[identity]
            balance[identity] = before + change
            open_identities += (before + change != 0) - (before != 0)
        if open_identities == 0:
            return length
    return 0
