"""Control logic whose runs the tests of forks go on with, as it was recorded and mended."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, cast

from tachograph.core.boundary import Agent, Receipted, Run, tool
from tachograph.core.errors import ReconciliationRequired

EXECUTED: list[str] = []
"""What was executed in this process."""


@tool(effect="read")
def look_up(ticket: str) -> dict[str, object]:
    """Read a ticket."""
    EXECUTED.append(f"look_up {ticket}")
    return {"ticket": ticket, "to": "alice", "amount": 12}


@tool(effect="write", idempotency_key=lambda to, amount, key: key)
def pay(to: str, amount: int, key: str) -> object:
    """Pay; the line drops for one payee."""
    EXECUTED.append(f"pay {to} {amount}")
    if to == "dropped":
        raise ConnectionResetError("the line went dead")
    return Receipted({"paid": to}, {"receipt": 7})


@tool(effect="write", idempotency_key=lambda to, amount, key: "always the same", name="pay")
def pay_once(to: str, amount: int, key: str) -> object:
    """The same tool, under a key that does not change with each attempt."""
    return pay(to, amount, key)


def decide(question: str) -> dict[str, object]:
    """A model."""
    EXECUTED.append("decide")
    return {"answer": "yes", "model": "m-1", "usage": {"input_tokens": 3, "output_tokens": 1}}


def ask_person(what: object) -> dict[str, object]:
    """An approval."""
    EXECUTED.append("ask_person")
    return {"approver": "carol", "granted": True, "decided_at": 1_000_000, "expires_at": 2_000_000}


async def pieces(count: int) -> Any:
    """A streamed answer."""
    for number in range(count):
        await asyncio.sleep(0)
        yield {"piece": number}


async def refund(run: Run, to: str) -> str:
    """One agent: look up, decide, have it approved, pay."""
    async with run.agent("clerk", role="pays") as agent:
        facts = await agent.call(look_up, "T-1")
        said = cast("dict[str, object]", await agent.model(decide, question=str(facts)))
        agent.set_state("said", said["answer"])
        if said["answer"] != "yes":
            return "refused"
        granted = cast("dict[str, object]", await agent.approval(ask_person, {"pay": to}))
        if granted["granted"] is not True:
            return "not granted"
        return str(await agent.call(pay, to, cast("int", facts["amount"]), "k-1"))


async def refund_elsewhere(run: Run, to: str) -> str:
    """A new plan: somebody else is paid, under a key of its own."""
    async with run.agent("clerk", role="pays") as agent:
        facts = await agent.call(look_up, "T-1")
        await agent.model(decide, question=str(facts))
        agent.set_state("said", "yes")
        await agent.approval(ask_person, {"pay": "bob"})
        return str(await agent.call(pay, "bob", cast("int", facts["amount"]), "k-2"))


async def stubborn(run: Run) -> int:
    """Pays again when it does not know: under a fresh key each time."""
    return await _attempts(run, pay)


async def stubborn_once(run: Run) -> int:
    """The same with one key for all attempts; no step of it is another one."""
    return await _attempts(run, pay_once)


async def _attempts(run: Run, function: Callable[[str, int, str], object]) -> int:
    async with run.agent("clerk") as agent:
        for attempt in range(3):
            try:
                await agent.call(function, "dropped", 12, f"attempt-{attempt}")
            except ConnectionError:
                await asyncio.sleep(0.01)
        return 3


async def gives_in(run: Run) -> str:
    """It handles the refusal."""
    async with run.agent("clerk") as agent:
        for attempt in range(3):
            try:
                await agent.call(pay_once, "dropped", 12, f"attempt-{attempt}")
            except ConnectionError:
                await asyncio.sleep(0.01)
            except ReconciliationRequired as refusal:
                return type(refusal).__name__
        return "paid"


DECIDED: list[Callable[[], None]] = []
"""What happens while `twice` waits."""


def waits() -> None:
    """Give others time to decide something."""
    for decide_it in DECIDED:
        decide_it()


def twice(run: Run) -> None:
    """Two attempts under one key."""
    with run.agent("clerk") as agent:
        for attempt in range(2):
            try:
                agent.call(pay_once, "dropped", 12, "the key")
            except ConnectionError:
                if attempt == 0:
                    agent.call(waits)


async def talk(run: Run) -> list[object]:
    """Two agents of one process: one decides, the other does it."""

    async def planner() -> None:
        async with run.agent("planner") as agent:
            said = cast("dict[str, object]", await agent.model(decide, question="whom to pay"))
            await agent.send("payer", {"to": "alice" if said["answer"] == "yes" else "bob"})
            await agent.receive()

    async def payer() -> object:
        async with run.agent("payer") as agent:
            order = cast("dict[str, str]", await agent.receive())
            paid = await agent.call(pay, order["to"], 12, f"order-{order['to']}")
            await agent.send("planner", paid)
            return order

    return list(await asyncio.gather(planner(), payer()))


async def silent(run: Run) -> list[object]:
    """The same fleet; the planner has nothing to say."""

    async def planner() -> None:
        async with run.agent("planner") as agent:
            await agent.model(decide, question="whom to pay")

    async def payer() -> object:
        async with run.agent("payer") as agent:
            order = cast("dict[str, str]", await agent.receive())
            return await agent.call(pay, order["to"], 12, f"order-{order['to']}")

    return list(await asyncio.gather(planner(), payer()))


async def talkative(run: Run) -> list[object]:
    """The same fleet; the planner sends one message more, and the payer takes it."""

    async def planner() -> None:
        async with run.agent("planner") as agent:
            await agent.model(decide, question="whom to pay")
            await agent.send("payer", {"to": "alice"})
            await agent.send("payer", {"to": "nobody else"})

    async def payer() -> object:
        async with run.agent("payer") as agent:
            return [await agent.receive(), await agent.receive()]

    return list(await asyncio.gather(planner(), payer()))


async def greedy(run: Run) -> list[object]:
    """The same fleet; the payer waits for a second message."""

    async def planner() -> None:
        async with run.agent("planner") as agent:
            await agent.model(decide, question="whom to pay")
            await agent.send("payer", {"to": "alice"})

    async def payer() -> object:
        async with run.agent("payer") as agent:
            return [await agent.receive(), await agent.receive()]

    return list(await asyncio.gather(planner(), payer()))


async def sub_agents(run: Run, count: int) -> list[object]:
    """An agent that opens others, one after the other under one name."""
    async with run.agent("chief") as chief:
        found: list[object] = []
        for number in range(count):
            async with chief.agent("helper", role=f"helps {number}") as helper:
                found.append(await helper.call(look_up, f"T-{number}"))
        chief.checkpoint("helped", count)
        found.append(await chief.call(look_up, "T-last"))
        return found


async def reader(run: Run) -> list[object]:
    """Everything that is no tool: clock, chance, ids, streams, artifacts, timers."""
    async with run.agent("reader") as agent:
        found: list[object] = [agent.now(), agent.random("dice").randrange(6), agent.new_id()]
        found += [piece async for piece in agent.stream(pieces, 3)]
        await asyncio.sleep(0.02)
        agent.artifact("letter", "dear", "text/plain")
        found.append(agent.now())
        return found


async def reader_reads_more(run: Run) -> list[object]:
    """Reads everything once more."""
    async with run.agent("reader") as agent:
        found: list[object] = [agent.now(), agent.random("dice").randrange(6), agent.new_id()]
        found += [piece async for piece in agent.stream(pieces, 3)]
        await asyncio.sleep(0.05)
        agent.artifact("letter", "dear", "text/plain")
        found += [agent.now(), agent.now(), agent.random("cards").random(), agent.new_id("more")]
        return found


def sync_refund(run: Run) -> object:
    """Synchronous control logic."""
    with run.agent("clerk") as agent:
        agent.send("clerk", "note to self")
        note = agent.receive()
        facts = agent.call(look_up, "T-1")
        agent.set_state("facts", [note, facts])
        return agent.call(pay, "alice", 12, "k-sync")


async def office(run: Run) -> None:
    """The first of two units."""
    async with run.agent("boss") as agent:
        said = cast("dict[str, object]", await agent.model(decide, question="whom to pay"))
        await agent.send("cashier", {"to": "alice" if said["answer"] == "yes" else "bob"})
        agent.set_state("answer", await agent.receive())


async def cashier(agent: Agent) -> None:
    """The second unit, a process of its own."""
    order = cast("dict[str, str]", await agent.receive())
    granted = cast("dict[str, object]", await agent.approval(ask_person, order))
    if granted["granted"] is True:
        await agent.call(pay, order["to"], 12, f"cash-{order['to']}")
    await agent.send("boss", f"paid {order['to']}")


async def broken_cashier(agent: Agent) -> None:
    """It does not even look."""
    raise ValueError("no money")


def leaves(run: Run) -> None:
    """Ends its process."""
    import os

    with run.agent("clerk") as agent:
        agent.call(look_up, "T-1")
        os._exit(3)


def stays(run: Run) -> None:
    """What `leaves` was recorded as."""
    with run.agent("clerk") as agent:
        agent.call(look_up, "T-1")


def swallows(run: Run, to: str) -> str:
    """Control logic that survives whatever it can."""
    with run.agent("clerk") as agent:
        try:
            agent.call(look_up, "T-2")
        except Exception:
            return "swallowed"
        return "went on"


def spins(run: Run) -> None:
    """Never comes to an end."""
    with run.agent("clerk") as agent:
        agent.call(look_up, "T-1")
        while True:
            pass


def many(run: Run, count: int) -> None:
    """A long run."""
    with run.agent("clerk") as agent:
        for number in range(count):
            agent.call(look_up, f"T-{number}")
