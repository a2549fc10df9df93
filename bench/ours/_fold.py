"""Folding a fleet's events into its state, and the floor that decoding them sets."""

from __future__ import annotations

import asyncio
import io
import random
from functools import cache

import fastavro

from bench._measure import Figures, Subject, fresh_directory, timed
from bench._payload import arguments, result, text
from bench.ours._verify import _schema
from tachograph.core.boundary import Agent, Run, tool
from tachograph.core.redaction import NO_REDACTION
from tachograph.core.state import Folding, empty
from tachograph.producers import Recorder
from tachograph.schemas import decode_meta
from tachograph.stores import Home

_AGENTS = 25
_ROUNDS = 40


@tool(name="look_up")
async def _look_up(question: dict[str, object], number: int) -> dict[str, object]:
    return result(random.Random(number))


@tool(name="refund", effect="write", idempotency_key=lambda order, **_: str(order))
async def _refund(order: int) -> dict[str, object]:
    return {"refunded": order}


async def _answers(**request: object) -> dict[str, object]:
    return {"choices": [{"message": {"content": text(random.Random(len(str(request))), 1200)}}]}


async def _desk(run: Run) -> None:
    """Agents that look things up, ask a model, keep state, write to each other and, now and then, refund."""
    names = [f"desk-{number}" for number in range(_AGENTS)]
    async with asyncio.TaskGroup() as group:
        for number, name in enumerate(names):
            group.create_task(_agent(run, name, names[(number + 1) % _AGENTS], number))


async def _agent(run: Run, name: str, neighbour: str, number: int) -> None:
    rng = random.Random(number)
    async with run.agent(name) as agent:
        for turn in range(_ROUNDS):
            await _turn(agent, neighbour, rng, number * _ROUNDS + turn)


async def _turn(agent: Agent, neighbour: str, rng: random.Random, number: int) -> None:
    agent.now()
    for at in range(4):
        await agent.call(_look_up, arguments(rng), number * 4 + at)
    await agent.model(_answers, model="m", messages=[{"role": "user", "content": text(rng, 1500)}])
    await agent.send(neighbour, {"note": text(rng, 200)})
    await agent.receive()
    agent.set_state("turn", number)
    if number % 10 == 0:
        await agent.call(_refund, number)


@cache
def payloads() -> tuple[bytes, ...]:
    """The events of one run of the desk, in the order in which they were written."""
    home = fresh_directory() / "home"
    recorder = Recorder(home, redaction=NO_REDACTION)
    asyncio.run(recorder.record(_desk))
    recorder.close()
    return tuple(stored.payload for stored in Home.open(home).log.read_run(recorder.latest_run_id or ""))


def fold() -> Subject:
    """From an empty state to the run's."""
    events = payloads()
    run_id = decode_meta(events[0]).run_id

    def work(_: int) -> None:
        add = Folding(empty(run_id)).add
        for payload in events:
            add(payload)

    return lambda _: _per(timed(work, 1), len(events))


def decode() -> Subject:
    """fastavro's decode of every event."""
    events = payloads()
    schemas = {payload[:5]: _schema(payload) for payload in events}

    def work(_: int) -> None:
        for payload in events:
            fastavro.schemaless_reader(io.BytesIO(payload[5:]), schemas[payload[:5]], None)

    return lambda _: _per(timed(work, 1), len(events))


def _per(figures: Figures, events: int) -> Figures:
    return {name: value / events for name, value in figures.items()}
