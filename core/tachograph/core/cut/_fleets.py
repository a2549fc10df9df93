"""Which runs belong together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field


@dataclass(slots=True)
class Links:
    """Which runs are linked with which."""

    _linked: dict[str, set[str]] = field(default_factory=dict[str, set[str]])

    def parent(self, run_id: str, parent_run_id: str | None) -> None:
        """A run, and the one that it was forked from, or was started by."""
        self._linked.setdefault(run_id, set())
        if parent_run_id is not None:
            self._link(run_id, parent_run_id)

    def others(self, run_id: str, others: Iterable[str]) -> None:
        """A run, and those that it had to do with."""
        for other in others:
            self._link(run_id, other)

    def as_mapping(self) -> Mapping[str, frozenset[str]]:
        """Run to the runs it is directly linked with."""
        return {run_id: frozenset(others) for run_id, others in self._linked.items()}

    def _link(self, one: str, other: str) -> None:
        self._linked.setdefault(one, set()).add(other)
        self._linked.setdefault(other, set()).add(one)


def fleet_of(links: Mapping[str, frozenset[str]], run_id: str) -> tuple[str, ...]:
    """The run and all that are linked with it, over however many others; sorted."""
    found = {run_id}
    todo = [run_id]
    while todo:
        for other in links.get(todo.pop(), frozenset()):
            if other not in found:
                found.add(other)
                todo.append(other)
    return tuple(sorted(found))
