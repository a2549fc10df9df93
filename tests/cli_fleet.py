"""A small fleet for the command line's tests: a lookup, a model, a message, an effect whose fate stays open."""

from __future__ import annotations

import asyncio

from tachograph.producers import Recorder, Run, tool

EVIL = "\x1b[2J\u202ehello"
"""A payload that would clear the screen and turn the text around."""


@tool(effect="read")
async def look_up(ticket: str) -> dict[str, object]:
    """Look a ticket up."""
    return {"ticket": ticket, "text": EVIL}


@tool(effect="write", idempotency_key=lambda to, _text: f"mail:{to}")
async def send_mail(to: str, _text: str) -> str:
    """Send a mail; the connection drops afterwards for one address."""
    if to == "dropped":
        raise ConnectionResetError("the connection dropped after the mail was accepted")
    return f"sent to {to}"


async def ask_model(model: str, question: str) -> dict[str, object]:
    """A model that always says yes."""
    return {"model": model, "answer": f"yes: {question}"}


async def mailer(run: Run, to: str) -> str:
    """Wait for an order, then mail."""
    async with run.agent("mailer", role="sends mail") as agent:
        order = await agent.receive()
        try:
            return str(await agent.call(send_mail, to, str(order)))
        except ConnectionError:
            agent.set_state("mailed", value=False)
            return "unknown"


async def desk(run: Run, ticket: str, to: str) -> str:
    """Look up, ask, order a mail."""

    async def triage() -> None:
        async with run.agent("triage", role="decides") as agent:
            agent.now()
            facts = await agent.call(look_up, ticket)
            answer = await agent.model(ask_model, model="m-1", question=str(facts))
            await agent.send("mailer", answer)
            agent.set_state("ticket", ticket)

    _, mailed = await asyncio.gather(triage(), mailer(run, to))
    return mailed


async def other_desk(run: Run, ticket: str, to: str) -> str:
    """The same desk, in a hurry: it does not look the ticket up."""

    async def triage() -> None:
        async with run.agent("triage", role="decides") as agent:
            agent.now()
            answer = await agent.model(ask_model, model="m-1", question=ticket)
            await agent.send("mailer", answer)

    _, mailed = await asyncio.gather(triage(), mailer(run, to))
    return mailed


async def record(home: str, *recipients: str) -> list[str]:
    """Record one run per recipient; their ids."""
    run_ids: list[str] = []
    with Recorder(home) as recorder:
        for to in recipients:
            await recorder.record(desk, "T-1", to)
            assert recorder.latest_run_id is not None
            run_ids.append(recorder.latest_run_id)
    return run_ids
