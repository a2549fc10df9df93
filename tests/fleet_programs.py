"""Random asyncio fleets as data: a small language, its interpreter (the control logic), and a generator.

A program is JSON, so it is an argument of the entry point and goes into the recording. Every call carries the number of
its statement, so that a test can find its recorded step. Statements are lists; the interpreter's `_op` methods
say what they mean. What tasks share without the boundary (a list, queues, a lock, events) makes a wrong order visible.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable
from typing import Any, cast

from tachograph.core.boundary import Agent, Run, tool

Program = dict[str, Any]
Statement = list[Any]
Body = list[Statement]


class Refusal(Exception):
    """A tool's own error, with an attribute."""

    def __init__(self, code: int) -> None:
        super().__init__(f"refused with {code}")
        self.code = code


class Stop(Exception):
    """The program ends early."""


@tool()
def at_once(number: int, value: object) -> object:
    return [number, value]


@tool()
async def waits(number: int, value: object, seconds: float) -> object:
    await asyncio.sleep(seconds)
    return [number, value]


@tool()
async def gives_way(number: int, value: object, turns: int) -> object:
    for _ in range(turns):
        await asyncio.sleep(0)
    return [number, value]


@tool()
async def inner_tasks(number: int, value: object, turns: int) -> object:
    async def part(count: int) -> int:
        for _ in range(count):
            await asyncio.sleep(0)
        return count

    async def bounded(count: int) -> int:
        return await asyncio.wait_for(part(count), 5)

    parts = await asyncio.gather(part(turns), part(1), bounded(0))
    return [number, value, parts]


@tool(raises=(Refusal,))
async def fails(number: int, value: object, seconds: float) -> object:
    if seconds:
        await asyncio.sleep(seconds)
    raise Refusal(number)


@tool(effect="write", idempotency_key=lambda number, value, seconds: f"effect-{number}", failed=(Refusal,))
async def writes(number: int, value: object, seconds: float) -> object:
    if seconds:
        await asyncio.sleep(seconds)
    return {"receipt": number}


@tool()
async def cleans_up(number: int, value: object, seconds: float) -> object:
    try:
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        await asyncio.sleep(0)
        raise
    return [number, value]


async def streams(number: int, value: object, pieces: int, seconds: float) -> Any:
    for index in range(pieces):
        if seconds and index % 2:
            await asyncio.sleep(seconds)
        yield [number, value, index]


def answers(number: int, value: object) -> object:
    return {"model": "scripted", "answer": [number, value], "usage": {"input_tokens": 1, "output_tokens": 2}}


TOOLS: dict[str, Callable[..., Any]] = {
    "at_once": at_once,
    "waits": waits,
    "gives_way": gives_way,
    "inner_tasks": inner_tasks,
    "fails": fails,
    "writes": writes,
    "cleans_up": cleans_up,
}


async def fleet(run: Run, program: Program) -> object:
    """The entry point: every agent of the program, at the same time."""
    return await asyncio.gather(*(_agent(run, name, body) for name, body in program["agents"]))


async def _agent(run: Run, name: str, body: Body) -> object:
    async with run.agent(name) as agent:
        interpreter = Interpreter(agent, Shared())
        try:
            await interpreter.body(body)
        except Stop:
            pass
        except Refusal as error:
            agent.set_state("ended in", f"{type(error).__name__}: {error}")
        agent.set_state("saw", interpreter.saw)
        return len(interpreter.saw)


class Shared:
    """What the tasks of an agent, its children's included, share past the boundary."""

    def __init__(self) -> None:
        self.trace: list[int] = []
        self.queue: asyncio.Queue[object] = asyncio.Queue()
        self.lock = asyncio.Lock()
        self.event = asyncio.Event()
        self.said: object = None
        """The number of the model call that was answered last."""


class Interpreter:
    """Runs the statements of one agent."""

    def __init__(self, agent: Agent, shared: Shared, saw: list[object] | None = None) -> None:
        self.agent = agent
        self.shared = shared
        self.saw: list[object] = [] if saw is None else saw

    async def body(self, statements: Body) -> None:
        for statement in statements:
            await getattr(self, f"_{statement[0]}")(*statement[1:])

    async def _call(self, number: int, name: str, *args: object) -> None:
        self.saw.append(await self.agent.call(TOOLS[name], number, self._look(), *args))

    async def _model(self, number: int) -> None:
        self._heard(await self.agent.model(answers, number=number, value=self._look()))

    async def _misheard(self, number: int, other: int) -> None:
        """Asks the model the same, and takes something else for its answer."""
        answer = await self.agent.model(answers, number=number, value=self._look())
        self._heard({**cast("dict[str, object]", answer), "answer": [other, None]})

    def _heard(self, answer: Any) -> None:
        self.shared.said = answer["answer"][0] if isinstance(answer, dict) else answer
        self.saw.append(answer)

    async def _stream(self, number: int, pieces: int, seconds: float, stop: int) -> None:
        count = 0
        stream = self.agent.stream(streams, number, self._look(), pieces, seconds)
        try:
            async for piece in stream:
                self.saw.append(piece)
                count += 1
                if count == stop:
                    break
        finally:
            await stream.aclose()  # type: ignore[attr-defined]

    async def _tried(self, body: Body) -> None:
        try:
            await self.body(body)
        except Refusal as error:
            self.saw.append(["refused", error.code])

    async def _sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def _mark(self, number: int) -> None:
        self.shared.trace.append(number)

    async def _gather(self, bodies: list[Body]) -> None:
        found = await asyncio.gather(*(self.body(body) for body in bodies), return_exceptions=True)
        self.saw.append([type(one).__name__ for one in found])

    async def _group(self, bodies: list[Body]) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                for body in bodies:
                    group.create_task(self.body(body))
        except* (Refusal, TimeoutError) as errors:
            self.saw.append(["group", len(errors.exceptions)])

    async def _first(self, bodies: list[Body]) -> None:
        async with _Ended([asyncio.create_task(self.body(body)) for body in bodies]) as tasks:
            done, pending = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            self.saw.append(["first", [index for index, task in enumerate(tasks) if task in done]])
            for task in pending:
                task.cancel()

    async def _completed(self, bodies: list[Body]) -> None:
        async def numbered(index: int, body: Body) -> int:
            await self.body(body)
            return index

        async with _Ended([asyncio.create_task(numbered(index, body)) for index, body in enumerate(bodies)]) as tasks:
            order: list[object] = []
            for finished in asyncio.as_completed(tasks):
                try:
                    order.append(await finished)
                except Refusal:
                    order.append("refused")
            self.saw.append(["completed", order])

    async def _asked_together(self, numbers: list[int], seconds: float) -> None:
        calls = [self.agent.call(waits, number, self._look(), seconds) for number in numbers]
        self.saw.extend([await finished for finished in asyncio.as_completed(calls)])

    async def _within(self, seconds: float, body: Body) -> None:
        try:
            await asyncio.wait_for(self.body(body), seconds)
        except TimeoutError:
            self.saw.append("timed out")

    async def _timeout(self, seconds: float, body: Body) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self.body(body)
        except TimeoutError:
            self.saw.append("timed out")

    async def _cancelled(self, seconds: float, body: Body) -> None:
        async with _Ended([asyncio.create_task(self.body(body))]) as (task,):
            await asyncio.sleep(seconds)
            task.cancel()
        self.saw.append(["cancelled", task.cancelled()])

    async def _send(self, to: str, number: int) -> None:
        await self.agent.send(to, [number, self._look()])

    async def _receive(self, seconds: float) -> None:
        try:
            self.saw.append(await asyncio.wait_for(self.agent.receive(), seconds))
        except TimeoutError:
            self.saw.append("no message")

    async def _put(self, number: int) -> None:
        self.shared.queue.put_nowait(number)

    async def _get(self, seconds: float) -> None:
        try:
            self.saw.append(await asyncio.wait_for(self.shared.queue.get(), seconds))
        except TimeoutError:
            self.saw.append("empty")

    async def _locked(self, body: Body) -> None:
        async with self.shared.lock:
            await self.body(body)

    async def _signal(self) -> None:
        self.shared.event.set()

    async def _await(self, seconds: float) -> None:
        try:
            await asyncio.wait_for(self.shared.event.wait(), seconds)
        except TimeoutError:
            self.saw.append("no signal")

    async def _random(self, stream: str) -> None:
        self.saw.append(self.agent.random(stream).randrange(1_000_000))

    async def _now(self) -> None:
        self.saw.append(self.agent.now())

    async def _id(self, purpose: str) -> None:
        self.saw.append(self.agent.new_id(purpose))

    async def _state(self, key: str) -> None:
        self.agent.set_state(key, [len(self.saw), self._look()])

    async def _checkpoint(self, name: str) -> None:
        self.agent.checkpoint(name, self._look())

    async def _child(self, name: str, body: Body) -> None:
        async with self.agent.agent(name, "child") as child:
            await Interpreter(child, self.shared, self.saw).body(body)

    async def _clock_past_the_boundary(self) -> None:
        self.saw.append(time.time())
        self.agent.set_state("clock", self.saw[-1])

    async def _end(self) -> None:
        raise Stop

    def _look(self) -> object:
        """What this task can see of the order in which all tasks have run, and of what the model said last."""
        return [len(self.shared.trace), self.shared.trace[-3:], self.shared.queue.qsize(), self.shared.said]


class _Ended:
    """Tasks that are over when the block is: an agent's tasks must not outlive it."""

    def __init__(self, tasks: list[asyncio.Task[Any]]) -> None:
        self._tasks = tasks

    async def __aenter__(self) -> list[asyncio.Task[Any]]:
        return self._tasks

    async def __aexit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            for task in self._tasks:
                task.cancel()
        while not all(task.done() for task in self._tasks):
            try:
                await asyncio.gather(*self._tasks, return_exceptions=True)
            except asyncio.CancelledError:
                for task in self._tasks:
                    task.cancel()


SECONDS = (0, 0.001, 0.001, 0.002, 0.003, 0.005)


class Generator:
    """Makes a program from a seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._number = seed * 1_000

    def program(self) -> Program:
        names = [f"agent{index}" for index in range(self._random.randint(1, 8))]
        self._names = names
        size = self._random.randint(1, 4) if len(names) > 4 else self._random.randint(2, 8)
        return {"agents": [[name, self._body(size, 2)] for name in names]}

    def _body(self, size: int, depth: int) -> Body:
        return [self._statement(depth) for _ in range(size)]

    def _statement(self, depth: int) -> Statement:
        pick = self._random
        if depth and pick.random() < 0.35:
            return self._compound(depth - 1)
        if depth == 2 and pick.random() < 0.1:  # as_completed leaves its tasks behind when it is cancelled
            self._number += 3
            last = self._number
            return ["asked_together", [last - 2, last - 1, last], pick.choice(SECONDS)]
        kind = pick.choice(
            "call call call call model stream tried sleep mark mark mark send receive put get signal await random now id "
            "state checkpoint".split()
        )
        seconds = pick.choice(SECONDS)
        self._number += 1
        number = self._number
        match kind:
            case "call":
                return self._a_call(number)
            case "model" | "mark" | "put":
                return [kind, number]
            case "stream":
                return ["stream", number, pick.randint(0, 4), seconds, pick.choice((0, 0, 1, 2))]
            case "tried":
                return ["tried", [["call", number, "fails", seconds]]]
            case "sleep" | "receive" | "get" | "await":
                return [kind, seconds]
            case "send":
                return ["send", pick.choice(self._names), number]
            case "signal" | "now":
                return [kind]
            case _:
                return [kind, pick.choice("xyz")]

    def _a_call(self, number: int) -> Statement:
        name = self._random.choice(["at_once", "waits", "waits", "gives_way", "inner_tasks", "writes", "cleans_up"])
        if name == "at_once":
            return ["call", number, name]
        if name in ("gives_way", "inner_tasks"):
            return ["call", number, name, self._random.randint(0, 4)]
        return ["call", number, name, self._random.choice(SECONDS)]

    def _compound(self, depth: int) -> Statement:
        pick = self._random
        kind = pick.choice("gather gather group first completed within timeout cancelled locked child".split())
        size = pick.randint(1, 3)
        match kind:
            case "gather" | "group" | "first" | "completed":
                return [kind, [self._body(pick.randint(1, 3), depth) for _ in range(pick.randint(1, 4))]]
            case "within" | "timeout" | "cancelled":
                return [kind, pick.choice(SECONDS), self._body(size, depth)]
            case "locked":  # nobody holds two locks, so nobody waits for ever
                return ["locked", self._body(size, 0)]
            case _:
                self._number += 1
                return ["child", f"child{self._number}", self._body(size, depth)]
