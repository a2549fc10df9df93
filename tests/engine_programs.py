"""Control logic for tests of exactness: each function is one way in which tasks meet. Importable by name."""

from __future__ import annotations

import asyncio
import queue
import threading

from tachograph.core.boundary import Agent, Run
from tachograph.core.errors import ReconciliationRequired
from tachograph.producers import tool


class Refused(Exception):
    """An error with an attribute."""

    def __init__(self, code: int) -> None:
        super().__init__(f"refused with {code}")
        self.code = code


class Undeclared(Exception):
    """An error whose class no tool declares, but whose module is imported."""


@tool()
async def answer(name: str, seconds: float) -> str:
    await asyncio.sleep(seconds)
    return name.upper()


@tool()
def at_once(name: str) -> str:
    return name.upper()


@tool(raises=(Refused,))
async def refuse(code: int) -> None:
    await asyncio.sleep(0.001)
    raise Refused(code)


@tool()
def fail_undeclared() -> None:
    raise Undeclared("somehow", 3)


@tool(effect="write", idempotency_key=lambda key: key)
def lost(key: str) -> None:
    raise ConnectionResetError("the connection was lost")


async def tokens(count: int, *, broken: bool = False):  # noqa: ANN201 an async generator of texts
    for number in range(count):
        await asyncio.sleep(0.001 if number % 2 else 0)
        yield f"token {number}"
    if broken:
        raise ConnectionResetError("mid-stream")


async def gathers(run: Run) -> object:
    """Answers come in another order than they were asked for."""
    async with run.agent("a") as agent:
        return await asyncio.gather(*(agent.call(answer, name, 0.001 * (5 - n)) for n, name in enumerate("abcde")))


async def first_of(run: Run) -> object:
    """The first answer counts, the others are cancelled."""
    async with run.agent("a") as agent:
        tasks = [asyncio.create_task(agent.call(answer, name, 0.002 * (n + 1))) for n, name in enumerate("abc")]
        done, pending = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in pending:
            task.cancel()
        await asyncio.gather(*pending, return_exceptions=True)
        agent.set_state("first", sorted(task.result() for task in done))
        return [task.cancelled() for task in tasks]


async def as_they_come(run: Run) -> object:
    """`as_completed` starts its coroutines in the order of a set."""
    async with run.agent("a") as agent:
        calls = [agent.call(answer, name, 0.001 * (4 - n)) for n, name in enumerate("abcd")]
        return [await found for found in asyncio.as_completed(calls)]


async def group(run: Run) -> object:
    """One of a group fails and takes the others with it."""
    async with run.agent("a") as agent:
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(agent.call(answer, "slow", 0.05))
                tasks.create_task(agent.call(refuse, 7))
                tasks.create_task(agent.call(answer, "slower", 0.06))
        except* Refused as errors:
            codes = [error.code for error in errors.exceptions if isinstance(error, Refused)]
        else:
            codes = []
        return codes


async def times_out(run: Run) -> object:
    """Some calls come in time, some do not."""
    async with run.agent("a") as agent:
        found: list[object] = []
        for seconds in (0.001, 0.05, 0.002):
            try:
                found.append(await asyncio.wait_for(agent.call(answer, str(seconds), seconds), 0.02))
            except TimeoutError:
                found.append("too late")
            try:
                async with asyncio.timeout(0.02):
                    found.append(await agent.call(answer, f"again {seconds}", seconds))
            except TimeoutError:
                found.append("too late again")
        return found


async def meets(run: Run) -> object:
    """Tasks meet at a queue, a lock and an event."""
    async with run.agent("a") as agent:
        waiting: asyncio.Queue[object] = asyncio.Queue()
        lock, ready = asyncio.Lock(), asyncio.Event()
        order: list[object] = []

        async def produces(name: str, seconds: float) -> None:
            async with lock:
                found = await agent.call(answer, name, seconds)
            await waiting.put(found)
            ready.set()

        async def consumes(count: int) -> None:
            await ready.wait()
            for _ in range(count):
                found = await waiting.get()
                order.append(await agent.call(at_once, str(found)))

        await asyncio.gather(*(produces(name, 0.001) for name in "xyz"), consumes(2), consumes(1))
        return order


async def spins(run: Run) -> object:
    """How often a task gave way while it waited for another one is reproduced, too."""
    async with run.agent("a") as agent:
        task = asyncio.create_task(agent.call(answer, "slow", 0.003))
        turns = 0
        while not task.done():
            turns += 1
            await asyncio.sleep(0)
        agent.set_state("turns", turns)
        return await task


async def sleeps(run: Run) -> object:
    """Pauses of control logic, silent or not, beside calls."""
    async with run.agent("a") as agent:
        seen: list[str] = []

        async def pauses(name: str, seconds: float) -> None:
            for _ in range(3):
                await asyncio.sleep(seconds)
                seen.append(name)

        async def asks() -> None:
            for number in range(4):
                await agent.call(answer, f"{number} {seen}", 0.002)

        await asyncio.gather(pauses("a", 0.001), pauses("b", 0.0015), pauses("c", 0.004), asks())
        return seen


async def converses(run: Run) -> object:
    """Two agents send each other messages."""
    async with run.agent("a") as a, run.agent("b") as b:

        async def talks(agent: Agent, other: str, count: int) -> list[object]:
            heard = []
            for number in range(count):
                await agent.send(other, {"from": agent.id, "n": number})
                heard.append(await agent.receive())
            return heard

        return await asyncio.gather(talks(a, "b", 5), talks(b, "a", 5))


async def streams(run: Run) -> object:
    """A stream to its end, one that is left early, one that breaks."""
    async with run.agent("a") as agent:
        whole = [token async for token in agent.stream(tokens, 5)]
        some = []
        async for token in agent.stream(tokens, 5):
            some.append(token)
            if len(some) == 2:
                break
        broken: list[object] = []
        try:
            async for token in agent.stream(tokens, 3, broken=True):
                broken.append(token)
        except ConnectionResetError as error:
            broken.append(str(error))
        return [whole, some, broken]


async def errors(run: Run) -> object:
    """Exceptions come back as what they were, with what they carried."""
    async with run.agent("a") as agent:
        found: list[object] = []
        try:
            await agent.call(refuse, 4)
        except Refused as error:
            found.append([error.code, error.args])
        try:
            await agent.call(fail_undeclared)
        except Undeclared as error:
            found.append(list(error.args))
        for _ in range(2):
            try:
                await agent.call(lost, f"{run.id} one")
            except ConnectionResetError as error:
                found.append(str(error))
            except ReconciliationRequired as error:
                found.append([error.name, error.idempotency_key == f"{run.id} one", error.effect_id.startswith(run.id)])
        try:
            await agent.call(int, "x")
        except ValueError as error:
            found.append(str(error))
        return found


async def cancels_within(run: Run) -> object:
    """A tool cleans up when it is cancelled, or does not listen."""

    async def deaf(name: str) -> str:
        try:
            await asyncio.sleep(1)
        except asyncio.CancelledError:
            await asyncio.sleep(0.002)
        return name

    async with run.agent("a") as agent:
        task = asyncio.create_task(agent.call(deaf, "I stay"))
        other = asyncio.create_task(agent.call(answer, "other", 0.003))
        await asyncio.sleep(0.001)
        task.cancel()
        return await asyncio.gather(task, other, return_exceptions=True)


async def works_elsewhere(run: Run) -> object:
    """Control logic that gives work to threads."""
    async with run.agent("a") as agent:
        sums = await asyncio.gather(*(asyncio.to_thread(sum, range(n)) for n in (10, 100)))
        return await agent.call(at_once, str(sums))


def threads(run: Run) -> object:
    """Synchronous agents in threads of their own, which meet at a queue."""
    meeting: queue.Queue[str] = queue.Queue()

    def works(name: str) -> None:
        with run.agent(name) as agent:
            meeting.put(agent.call(at_once, name))

    workers = [threading.Thread(target=works, args=(name,)) for name in ("one", "two", "three")]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return sorted(meeting.get() for _ in workers)


def loops_inside(run: Run) -> object:
    """Synchronous control logic that starts event loops of its own."""

    async def part(name: str) -> object:
        async with run.agent(name) as agent:
            return await asyncio.gather(*(agent.call(answer, f"{name}{n}", 0.001 * n) for n in (2, 1)))

    return [asyncio.run(part("a")), asyncio.run(part("b"))]


async def reopens(run: Run) -> object:
    """The same agent lives twice, once while it lives already."""
    found = []
    async with run.agent("a") as first, run.agent("a") as second:
        found.append(await asyncio.gather(first.call(answer, "x", 0.002), second.call(answer, "y", 0.001)))
    async with run.agent("a") as third:
        found.append(await third.call(at_once, "z"))
    return found


async def reads(run: Run) -> object:
    """Clock, chance and ids of the boundary."""
    async with run.agent("a") as agent:
        return [agent.now(), agent.random("dice").randrange(6), agent.random("dice").random(), agent.new_id()]
