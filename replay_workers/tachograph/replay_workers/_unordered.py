"""What asyncio leaves to the addresses of objects: given an order here, so that two replays do the same.

`as_completed` starts its coroutines, and `wait` hands out its tasks, in the order of a set, which in the recording followed from
addresses. A replay takes the order they were given in; the others are alternatives for further attempts.
"""

from __future__ import annotations

import asyncio
import asyncio.tasks
from collections.abc import Coroutine, Iterable, Iterator
from contextvars import copy_context
from typing import Any, TypeVar

from tachograph.replay_workers._guard_time import Patch
from tachograph.replay_workers._schedule import Schedule
from tachograph.replay_workers._sequences import Member, entered_sequence

T = TypeVar("T")


class OrderedSet(set[T]):
    """A set that is walked in a given order."""

    def __init__(self, items: Iterable[T]) -> None:
        self._order = list(items)
        super().__init__(self._order)

    def __iter__(self) -> Iterator[T]:
        return iter([item for item in self._order if item in self])

    def pop(self) -> T:
        """Take the first one."""
        item = next(iter(self))
        self.discard(item)
        return item


class TaskSet(set[asyncio.Task[Any]]):
    """The tasks of a group, cancelled in an order that this attempt says."""

    def __init__(self, schedule: Schedule) -> None:
        super().__init__()
        self._schedule = schedule

    def __iter__(self) -> Iterator[asyncio.Task[Any]]:
        tasks = sorted(super().__iter__(), key=hash)
        return iter([tasks[index] for index in self._schedule.arranged(len(tasks), opened=True).order])


def unordered_patches(schedule: Schedule) -> list[Patch]:
    """What replaces asyncio's functions that depend on the order of a set."""
    genuine_as_completed = asyncio.as_completed
    genuine_wait = asyncio.wait

    def as_completed(fs: Iterable[Any], *, timeout: float | None = None) -> object:  # whatever is awaitable
        given = list(fs)
        fresh = [index for index, one in enumerate(given) if asyncio.iscoroutine(one)]
        arranged = schedule.arranged(len(fresh))
        for place, index in enumerate(arranged.order):
            given[fresh[index]] = _started(given[fresh[index]], Member(arranged, place))
        return genuine_as_completed(given, timeout=timeout)

    async def wait(
        fs: Iterable[Any], *, timeout: float | None = None, return_when: str = asyncio.ALL_COMPLETED
    ) -> tuple[set[Any], set[Any]]:
        given = list(fs)
        done, pending = await genuine_wait(given, timeout=timeout, return_when=return_when)
        return _arranged(schedule, given, done), _arranged(schedule, given, pending)

    genuine_init = asyncio.TaskGroup.__init__

    def init(group: asyncio.TaskGroup) -> None:
        genuine_init(group)
        group._tasks = TaskSet(schedule)

    return [
        (asyncio.TaskGroup, "__init__", init),
        *(
            (owner, name, function)
            for owner in (asyncio, asyncio.tasks)
            for name, function in (("as_completed", as_completed), ("wait", wait))
        ),
    ]


def _arranged(schedule: Schedule, given: list[Any], part: set[Any]) -> OrderedSet[Any]:
    """Some of what was given, in the order in which this attempt hands it out."""
    items = [one for one in given if one in part]
    return OrderedSet([items[index] for index in schedule.arranged(len(items), opened=True).order])


def _started(coroutine: Coroutine[Any, Any, Any], member: Member) -> asyncio.Task[Any]:
    """A task that knows which one of its sequence it is; so do the tasks that it starts."""
    context = copy_context()
    context.run(entered_sequence, member)
    return asyncio.get_running_loop().create_task(coroutine, context=context)
