"""The recorded steps behind a mismatch, to answer a replay from that has left its recording."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from tachograph.core.replay._align import Identity, identity
from tachograph.core.replay._values import Step


class Answers:
    """Finds the recorded step that answers best: the same one, else a like one that is near; unused ones first.

    Args:
        steps: all steps of the stream.
        position: index of the first one that the replay did not take.
    """

    __slots__ = ("_exact", "_following", "_like", "_steps", "_used")

    def __init__(self, steps: Sequence[Step], position: int) -> None:
        self._steps = steps
        self._following = position
        """Index behind the latest answer: where the replay is, should it be back on the recording."""
        self._used: set[int] = set()
        self._exact: defaultdict[Identity, list[int]] = defaultdict(list)
        self._like: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
        for index in range(position, len(steps)):
            step = steps[index]
            self._exact[identity(step)].append(index)
            self._like[step.kind, step.name].append(index)

    def find(self, step: Step) -> int | None:
        """Index of the recorded step that answers this one."""
        index = self._same(step)
        if index is None:
            index = self._similar(step)
            back = index == self._following
        else:
            back = True
        if index is not None:
            self._used.add(index)
            if back:
                self._following = index + 1
        return index

    def _same(self, step: Step) -> int | None:
        same = self._exact.get(identity(step), [])
        if self._following in same:
            return self._following
        unused = next((index for index in same if index not in self._used), None)
        return unused if unused is not None or not same else same[-1]

    def _similar(self, step: Step) -> int | None:
        like = self._like.get((step.kind, step.name), [])
        unused = [index for index in like if index not in self._used]
        return min(unused or like, key=lambda index: abs(index - self._following), default=None)
