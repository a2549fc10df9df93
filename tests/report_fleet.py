"""Control logic for tests of reports: two agents, a message, concurrent reads, an effect, and whatever payload is wanted."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tachograph.core.boundary import Agent, Run
from tachograph.core.ports import ReplayOptions, ReplayResult
from tachograph.producers import Recorder, tool
from tachograph.replay_workers import replay

CODE = Path(__file__).parent


@tool(effect="read")
async def price_of(item: str) -> dict[str, object]:
    """A read."""
    await asyncio.sleep(0)
    return {"item": item, "price": 20}


@tool(effect="write", idempotency_key=lambda order, amount: order)
def charge(order: str, amount: int) -> str:
    """An effect that may have happened."""
    raise TimeoutError(f"no answer about {order}")


async def clerk(agent: Agent, payload: str) -> None:
    """Look up twice at once, and tell."""
    found, _ = await asyncio.gather(agent.call(price_of, "teapot"), agent.call(price_of, payload))
    agent.set_state("price", found)
    agent.set_state(payload[:100] or "empty", payload)
    agent.checkpoint("looked up")
    await agent.send("cashier", {"order": "O-17", "amount": found["price"], "note": payload})


async def cashier(agent: Agent) -> str:
    """Charge, and be left in doubt."""
    message = await agent.receive()
    try:
        return str(await agent.call(charge, message["order"], message["amount"]))
    except TimeoutError as error:
        return str(error)


async def main(run: Run, payload: str) -> str:
    """The fleet."""
    async with run.agent("clerk", role=payload[:200]) as one, run.agent("cashier", role="charges") as two:
        await asyncio.gather(clerk(one, payload), cashier(two))
    return payload


def record(home: Path, payload: str = "plain") -> str:
    """Record the fleet."""
    recorder = Recorder(home)
    asyncio.run(recorder.record(main, payload))
    run_id = recorder.latest_run_id
    recorder.close()
    assert run_id is not None
    return run_id


def replayed(home: Path, run_id: str, code: Path = CODE) -> ReplayResult:
    """Replay a recorded fleet."""
    (result,) = replay(home, [run_id], ReplayOptions(code=str(code)), 1, lambda _done, _total, _what: None)
    return result
