"""The control logic of the golden replays. It never changes: every home beside it was recorded from it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

from tachograph.core.boundary import Agent, Run, tool
from tachograph.core.canonical import register_codec


class Refusal(Exception):
    """A tool's own error, with an attribute."""

    def __init__(self, code: int) -> None:
        super().__init__(f"refused with {code}")
        self.code = code


class Money:
    """A class with a codec of its own."""

    def __init__(self, amount: int, currency: str) -> None:
        self.amount = amount
        self.currency = currency


register_codec("golden-money", Money, lambda money: [money.amount, money.currency], lambda plain: Money(*plain))  # type: ignore[misc]


@tool(version="3")
async def price(item: str) -> Money:
    """A value of a registered class, some time later."""
    await asyncio.sleep(0.002 if item == "tea" else 0)
    return Money(len(item), "EUR")


@tool(raises=(Refusal,))
async def refuse(code: int) -> None:
    """An error."""
    await asyncio.sleep(0)
    raise Refusal(code)


@tool(effect="write", idempotency_key=lambda order: f"order {order}")
async def buy(order: int) -> dict[str, object]:
    """An effect."""
    await asyncio.sleep(0.001)
    return {"order": order, "at": datetime(2024, 5, 1, tzinfo=UTC), "day": date(2024, 5, 1), "raw": b"\x00\xff"}


async def slow() -> None:
    """Never comes back by itself."""
    await asyncio.sleep(60)


async def tokens(count: int) -> AsyncIterator[str]:
    """A streamed answer."""
    for index in range(count):
        yield f"token {index}"
        await asyncio.sleep(0)


def answer(**request: object) -> dict[str, object]:
    """A model's answer, with usage and stop reason."""
    return {
        "content": [{"type": "text", "text": "yes"}],
        "model": "m-1",
        "stop_reason": "end_turn",
        "usage": {"input_tokens": len(request), "output_tokens": 7},
        "score": 3.0,
    }


def found() -> list[dict[str, object]]:
    """Rows of an index."""
    return [{"document_id": "d-1", "chunk_id": "c-1", "score": 0.5, "text": "a row"}]


def decided() -> dict[str, object]:
    """A policy's decision."""
    return {"decision": "allow", "reasons": ["it is small"]}


def granted() -> dict[str, object]:
    """A person's approval."""
    return {"approver": "ada", "granted": True}


def values() -> dict[str, object]:
    """Values of many types; large, too."""
    return {
        "span": timedelta(seconds=3),
        "price": Decimal("1.10"),
        "pair": (1, (2.0, None)),
        "names": {"a", "b"},
        "large": 2**80,
        "long": "words, and more words; " * 2_000,
    }


async def desk(run: Run, names: list[str], *, limit: int) -> dict[str, object]:
    """Every kind of step, two agents, and calls side by side."""
    async with run.agent("clerk", role="first line") as clerk, run.agent("buyer") as buyer:
        prices = await asyncio.gather(*(clerk.call(price, name) for name in names))
        clerk.set_state("prices", [[one.amount, one.currency] for one in prices])
        asked = asyncio.create_task(_buys(buyer, limit))
        for number in range(limit):
            await clerk.send("buyer", {"order": number, "item": names[number]})
        clerk.set_state("model", await clerk.model(answer, provider="p", messages=[{"role": "user", "content": "?"}]))
        clerk.checkpoint("asked", {"pieces": [piece async for piece in clerk.stream(tokens, 3)]})
        await _inputs(clerk)
        await _errors(clerk)
        bought = await asked
    return {"bought": bought, "prices": [one.amount for one in prices]}


async def _buys(buyer: Agent, limit: int) -> list[object]:
    bought: list[object] = []
    for _ in range(limit):
        message = await buyer.receive()
        assert isinstance(message, dict)
        async with buyer.agent(f"order{message['order']}", role="an order") as order:
            bought.append((await order.call(buy, message["order"]))["order"])
    buyer.artifact("receipt", {"bought": bought})
    return bought


async def _inputs(clerk: Agent) -> None:
    await clerk.retrieve(found, index="i", index_version="2")
    await clerk.memory(values)
    await clerk.policy(decided, policy_id="p", policy_version="1")
    await clerk.approval(granted, action_digest=b"x" * 32)
    clerk.set_state("inputs", [clerk.now(), clerk.new_id(), clerk.random("dice").randint(1, 10**9)])


async def _errors(clerk: Agent) -> None:
    try:
        await clerk.call(refuse, 7)
    except Refusal as error:
        clerk.set_state("refused", [error.code, str(error)])
    try:
        await asyncio.wait_for(clerk.call(slow), 0.002)
    except TimeoutError:
        clerk.set_state("timed out", True)
