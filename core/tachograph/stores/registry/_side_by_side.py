"""Calls to a server, several at a time, for which the end of a process does not wait: a pool's threads it would."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from queue import SimpleQueue
from typing import TypeVar

A = TypeVar("A")
R = TypeVar("R")


def side_by_side(work: Callable[[A], R], arguments: Sequence[A], threads_max: int) -> Iterator[R]:
    """The results, as they come. Behind the first exception, which is raised, no more calls begin.

    Args:
        work: called with each argument, by several threads.
        arguments: what is to be done.
        threads_max: calls at the same time.
    """
    waiting, done = deque(arguments), SimpleQueue[tuple[R] | BaseException]()

    def go_on() -> None:
        while waiting:
            try:
                argument = waiting.popleft()
            except IndexError:
                return
            try:
                done.put((work(argument),))
            except BaseException as error:  # noqa: BLE001 whoever waits for the result raises it
                waiting.clear()
                done.put(error)

    try:
        for _ in range(min(threads_max, len(arguments))):
            threading.Thread(target=go_on, name="tachograph-schemas", daemon=True).start()
    except RuntimeError:  # the interpreter is about to end and starts no threads
        go_on()
    for _ in arguments:
        found = done.get()
        if isinstance(found, BaseException):
            raise found
        yield from found
