"""Control logic that the benchmarks record and replay; importable, as a replay needs it."""

from __future__ import annotations

import asyncio

from bench._payload import pairs
from tachograph.core.boundary import Run, tool

_PAIRS = pairs(256)


@tool(name="answer")
async def _answer(arguments: dict[str, object], number: int) -> dict[str, object]:
    return _PAIRS[number % 256][1]


async def sequential(run: Run, calls: int) -> int:
    """One call after another."""
    async with run.agent("worker") as agent:
        for number in range(calls):
            await agent.call(_answer, _PAIRS[number % 256][0], number)
    return calls


async def batched(run: Run, calls: int) -> int:
    """Ten calls at a time."""
    async with run.agent("worker") as agent:
        for start in range(0, calls, 10):
            batch = (agent.call(_answer, _PAIRS[n % 256][0], n) for n in range(start, start + 10))
            await asyncio.gather(*batch)
    return calls
