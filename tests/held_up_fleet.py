"""Control logic whose threads keep their order by what they compute: a replay that took one for resting would break it."""

from __future__ import annotations

import threading
import time

from tachograph.core.boundary import Run, SyncAgent, tool

ROUNDS = 4
COMPUTED = 400_000


@tool()
def noted(value: object) -> object:
    """A call, by what it is given."""
    return value


def fleet(run: Run) -> list[object]:
    """The slow one's steps come first: the quick one pauses before each of its own, which a replay does not wait for."""
    seen: list[object] = []
    with run.agent("worker") as agent:
        threads = [threading.Thread(target=one, args=(agent, seen)) for one in (_slow, _quick)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return seen


def _slow(agent: SyncAgent, seen: list[object]) -> None:
    for number in range(ROUNDS):
        total = 0
        for value in range(COMPUTED):
            total += value
        seen.append(agent.call(noted, ["slow", number, total]))


def _quick(agent: SyncAgent, seen: list[object]) -> None:
    time.sleep(0.5)
    for number in range(ROUNDS):
        seen.append(agent.call(noted, ["quick", number]))
