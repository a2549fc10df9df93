"""A unit's steps in the child, which drives while its parent still reads: whoever looks at one that is to come waits for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar, cast, overload

from tachograph.core.errors import InternalError
from tachograph.core.replay import Fixture, Step
from tachograph.replay_workers._wire import BlobReader, Frame
from tachograph.replay_workers._wire_steps import step_of

T = TypeVar("T")


class _ToCome:
    """Stands where nothing has come yet; None is a value."""


_TO_COME = _ToCome()


class Arriving(Sequence[T], Generic[T]):
    """A sequence of known length whose items come over a pipe, in any order."""

    __slots__ = ("_items", "_more")

    def __init__(self, count: int, more: Callable[[], None]) -> None:
        self._items: list[T | _ToCome] = [_TO_COME] * count
        self._more = more

    def __len__(self) -> int:
        return len(self._items)

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[T, ...]: ...
    def __getitem__(self, index: int | slice) -> T | tuple[T, ...]:
        if type(index) is int:
            item = self._items[index]
            while item is _TO_COME:
                self._more()
                item = self._items[index]
            return cast("T", item)
        return tuple(self[at] for at in range(*cast("slice", index).indices(len(self._items))))

    def put(self, index: int, item: T) -> None:
        """An item is there."""
        self._items[index] = item


class Arrivals:
    """The steps of a unit's streams.

    Args:
        wait: takes in the next frame of steps.
    """

    def __init__(self, wait: Callable[[], None]) -> None:
        self._wait = wait
        self._streams: list[tuple[str, int, Arriving[Step], Arriving[Fixture | None]]] = []
        self._complete = False

    def stream(self, agent_id: str, incarnation: int, count: int) -> tuple[Arriving[Step], Arriving[Fixture | None]]:
        """The steps of the next stream, and their fixtures."""
        steps, fixtures = Arriving[Step](count, self._more), Arriving["Fixture | None"](count, self._more)
        self._streams.append((agent_id, incarnation, steps, fixtures))
        return steps, fixtures

    def take(self, header: Frame, blob: bytes) -> None:
        """A frame of steps is there."""
        get = BlobReader(blob).get
        for row in cast("list[list[int]]", header["block"]):
            agent_id, incarnation, steps, fixtures = self._streams[row[0]]
            step, fixture = step_of(agent_id, incarnation, row, get)
            fixtures.put(step.number - 1, fixture)
            steps.put(step.number - 1, step)
        self._complete = header["last"] is True

    def complete(self) -> None:
        """Wait for everything that is to come."""
        while not self._complete:
            self._more()

    def _more(self) -> None:
        if self._complete:
            raise InternalError("a step of a unit did not come")
        self._wait()
