"""A fleet whose control logic meets all that differs between processes: hash order, addresses, time, other agents."""

from __future__ import annotations

import asyncio
import sys

from tachograph.core.boundary import Agent, Run, tool


class Refusal(Exception):
    """A tool's own error."""


@tool(effect="write", idempotency_key=lambda name: f"mail {name}", failed=(Refusal,))
async def mail(name: str) -> dict[str, str]:
    """An effect."""
    await asyncio.sleep(0.001)
    return {"sent": name}


async def look_up(name: str, seconds: float) -> dict[str, object]:
    """A tool that takes its time."""
    await asyncio.sleep(seconds)
    if name == "nobody":
        raise Refusal(name)
    return {"name": name, "letters": set(name), "length": float(len(name))}


async def fleet(run: Run, names: list[str]) -> dict[str, int]:
    """Agents side by side, who talk to each other."""
    async with run.agent("desk") as desk:
        seen = await asyncio.gather(*(_agent(run, name, index) for index, name in enumerate(names)))
        messages = [await desk.receive() for _ in names]
        desk.set_state("messages", len(messages))
        await desk.call(dict, {name: len(name) for name in set(names)})  # in the order of hashes
        desk.set_state("letters", dict.fromkeys({"x", "y", "z", "alpha", "beta"}, names))
    return dict.fromkeys(sorted(set(seen)), 1)


async def _agent(run: Run, name: str, index: int) -> str:
    async with run.agent(f"agent{index}") as agent:
        asked = [agent.call(look_up, name, seconds) for seconds in (0.003, 0.001, 0.002)]
        for answer in asyncio.as_completed(asked):
            await _answered(agent, answer)
        done, _ = await asyncio.wait({asyncio.create_task(agent.call(mail, f"{name}{number}")) for number in range(3)})
        agent.set_state("mails", len(done))
        agent.set_state("at", agent.now())
        await agent.send("desk", dict.fromkeys({"a", "b", "c", name}, name))
        return agent.random("dice").choice(sorted(name))


async def _answered(agent: Agent, answer: object) -> None:
    try:
        agent.set_state("found", await answer)  # type: ignore[misc]  # as_completed gives awaitables
    except Refusal as error:
        agent.set_state("refused", str(error))


async def other(run: Run, names: list[str]) -> dict[str, int]:
    """The same with one change: what the last agent is called."""
    return await fleet(run, [*names[:-1], names[-1].upper()])


def by_hash(run: Run) -> None:
    """Asks in the order of a set of texts: another one in every process that does not fix its hash seed."""
    with run.agent("clerk") as agent:
        for name in ("ada", "bob", "cyd", "dan", "eve"):
            agent.call(str, name)


def main(home: str) -> None:
    """Record a fleet in this process: `python replayed_fleet.py HOME`."""
    from tachograph.producers import Recorder

    with Recorder(home) as recorder:
        asyncio.run(_record(recorder))


async def _record(recorder: object) -> None:
    from tachograph.producers import Recorder

    assert isinstance(recorder, Recorder)
    await recorder.record(fleet, ["ada", "bob", "nobody"])
    print(recorder.latest_run_id)


if __name__ == "__main__":
    main(sys.argv[1])
