"""Drives an entry point within its unit, synchronously or on an event loop."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import contextmanager
from typing import cast

from tachograph.core.boundary import Agent, Run, SyncAgent, controlled, controlled_async, entered, left
from tachograph.producers._opening import Started


def driven(
    begin: Callable[[], Started],
    face: type[Run | Agent | SyncAgent],
    entrypoint: Callable[..., object],
    args: tuple[object, ...],
    kwargs: Mapping[str, object],
) -> object:
    """Begin the unit, call the entry point with its face and the arguments, end the unit.

    Returns:
        What the entry point returns; where it is a coroutine function, a coroutine that does all this when awaited.
    """
    if inspect.iscoroutinefunction(entrypoint):
        coroutine_function = cast("Callable[..., Awaitable[object]]", entrypoint)
        return _driven_async(begin, face, coroutine_function, args, kwargs)
    started = begin()
    try:
        with controlled(started.tape), _current(face(started.tape)) as door:
            value = entrypoint(door, *args, **kwargs)
    except BaseException as error:
        started.end(error)
        raise
    started.end(None, value)
    return value


async def _driven_async(
    begin: Callable[[], Started],
    face: type[Run | Agent | SyncAgent],
    entrypoint: Callable[..., Awaitable[object]],
    args: tuple[object, ...],
    kwargs: Mapping[str, object],
) -> object:
    started = begin()
    try:
        with controlled_async(started.tape), _current(face(started.tape)) as door:
            value = await entrypoint(door, *args, **kwargs)
    except BaseException as error:
        await started.end_async(error)
        raise
    await started.end_async(None, value)
    return value


@contextmanager
def _current(door: Run | Agent | SyncAgent) -> Generator[Run | Agent | SyncAgent]:
    """Make an agent the current one; a run has none of its own."""
    if isinstance(door, Run):
        yield door
        return
    token = entered(door)
    try:
        yield door
    finally:
        left(token)
