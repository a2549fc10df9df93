"""Control logic that the benchmarks record and replay; importable, as a replay needs it."""

from __future__ import annotations

import asyncio
import random
from functools import cache

from bench._payload import arguments, result
from tachograph.core.boundary import Run, tool

_ASKED = [arguments(random.Random(number)) for number in range(64)]
"""Made anew in every replay, as this module is imported there: no more than it takes to be varied."""


@cache
def _came_back(number: int) -> dict[str, object]:
    """Asked for when the tool is executed only, as it is in no replay."""
    return result(random.Random(number))


@tool(name="answer")
async def _answer(asked: dict[str, object], number: int) -> dict[str, object]:
    return _came_back(number % 256)


async def sequential(run: Run, calls: int) -> int:
    """One call after another."""
    async with run.agent("worker") as agent:
        for number in range(calls):
            await agent.call(_answer, _ASKED[number % 64], number)
    return calls


async def batched(run: Run, calls: int) -> int:
    """Ten calls at a time."""
    async with run.agent("worker") as agent:
        for start in range(0, calls, 10):
            batch = (agent.call(_answer, _ASKED[n % 64], n) for n in range(start, start + 10))
            await asyncio.gather(*batch)
    return calls
