"""A unit's steps in the child, which drives while its parent still reads: whoever looks at one that is to come waits for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar, cast, overload

from tachograph.core.errors import InternalError
from tachograph.core.replay import Fixture, Step
from tachograph.replay_workers._wire import BlobReader, Frame
from tachograph.replay_workers._wire_steps import KEY_BYTES, CallRow, step_of
from tachograph.schemas import CallOutcome

_OK = CallOutcome.OK
T = TypeVar("T")


class _ToCome:
    """Stands where nothing has come yet; None is a value."""


_TO_COME = _ToCome()


class Arriving(Sequence[T], Generic[T]):
    """A sequence of known length whose items come over a pipe, in any order."""

    __slots__ = ("_more", "items")

    def __init__(self, count: int, more: Callable[[], None]) -> None:
        self.items: list[T | _ToCome] = [_TO_COME] * count
        """What is there, each in its place."""
        self._more = more

    def __len__(self) -> int:
        return len(self.items)

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[T, ...]: ...
    def __getitem__(self, index: int | slice) -> T | tuple[T, ...]:
        if type(index) is int:
            item = self.items[index]
            while item is _TO_COME:
                self._more()
                item = self.items[index]
            return item  # type: ignore[return-value]  # it has come: a cast would be a call, and this is done for every step
        return tuple(self[at] for at in range(*cast("slice", index).indices(len(self.items))))


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
        get = BlobReader(blob, self._take_calls(cast("list[CallRow]", header["calls"]), blob)).get
        for row in cast("list[list[int]]", header["block"]):
            agent_id, incarnation, steps, fixtures = self._streams[row[0]]
            step, fixture = step_of(agent_id, incarnation, row, get)
            fixtures.items[step.number - 1] = fixture
            steps.items[step.number - 1] = step
        self._complete = header["last"] is True

    def _take_calls(self, rows: Sequence[CallRow], blob: bytes) -> int:
        """Plain calls are there; where their bytes end in the blob."""
        streams, end = self._streams, 0
        for row in rows:  # all of it in one place: this is on the path of every call
            number, place, kind, name, arguments, version, seq, hlc, result, yields, gap, over, over_hlc, redacted = row
            agent_id, incarnation, steps, fixtures = streams[number]
            begin = end + KEY_BYTES
            behind = begin + arguments
            key, end = blob[end:begin], behind + result
            came_back = blob[behind:end]
            fixtures.items[place - 1] = Fixture(_OK, came_back, None, (), yields, gap, over, over_hlc, None, redacted)
            steps.items[place - 1] = Step(
                agent_id, incarnation, place, kind, name, key, blob[begin:behind], version, seq, hlc, _OK, came_back
            )
        return end

    def complete(self) -> None:
        """Wait for everything that is to come."""
        while not self._complete:
            self._more()

    def _more(self) -> None:
        if self._complete:
            raise InternalError("a step of a unit did not come")
        self._wait()
