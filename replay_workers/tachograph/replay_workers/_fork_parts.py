"""The recorded parts of a stream that a fork has not used yet."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from tachograph.core.replay import Fixture, Step, StreamSteps
from tachograph.replay_workers._fork_change import CallKey


class Parts:
    """Recorded steps, each to be used once."""

    def __init__(self, stream: StreamSteps | None) -> None:
        self._steps: Sequence[Step] = stream.steps if stream is not None else ()
        self._fixtures: Sequence[Fixture | None] = stream.fixtures if stream is not None else ()
        self._used: set[int] = set()
        self._equal: defaultdict[tuple[str, str, bytes], list[int]] = defaultdict(list)
        for index, step in enumerate(self._steps):
            self._equal[step.kind, step.name, step.key].append(index)

    def use(self, step: Step) -> None:
        """A recorded step was taken in its place."""
        self._used.add(step.number - 1)

    def equal(self, step: Step) -> tuple[Step, Fixture | None] | None:
        """The first unused recorded step of the same kind, name and payload; it is used now."""
        for index in self._equal.get((step.kind, step.name, step.key), ()):
            if index not in self._used:
                self._used.add(index)
                return self._steps[index], self._fixtures[index]
        return None

    def overridden(self, step: Step, overrides: dict[CallKey, bytes]) -> tuple[Step, Fixture | None] | None:
        """The first unused recorded call of the same kind and name that has an override; it is used now."""
        for index, recorded in enumerate(self._steps):
            same = recorded.kind == step.kind and recorded.name == step.name
            if same and index not in self._used and _key(recorded) in overrides:
                self._used.add(index)
                return recorded, self._fixtures[index]
        return None


def _key(step: Step) -> CallKey:
    return step.agent_id, step.incarnation, step.seq
