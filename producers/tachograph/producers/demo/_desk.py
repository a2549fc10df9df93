"""The first process of the fleet: `triage` decides what a ticket deserves, `billing` books it."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Mapping
from typing import cast

from tachograph.core.boundary import Agent, Run
from tachograph.producers.demo._database import RULES_VERSION, book_refund, find_rules, read_ticket, refunds_of
from tachograph.producers.demo._model import DeskModel
from tachograph.producers.demo._places import Places
from tachograph.producers.demo._service import ask_supervisor, exchange_rate

_APPROVAL_FROM_EUR = 25


async def refund_desk(run: Run, places: Places, ticket: str) -> None:
    """The control logic of the first process."""
    async with asyncio.TaskGroup() as group:
        group.create_task(_triage(run, places, ticket))
        group.create_task(_billing(run, places))


async def _triage(run: Run, places: Places, ticket: str) -> None:
    async with run.agent("triage", role="decides what a ticket deserves") as agent:
        agent.set_state("opened_at", agent.now())
        found, rules = await asyncio.gather(
            agent.call(read_ticket, places["database"], ticket),
            agent.retrieve(
                find_rules, places["database"], "damaged", index="refund-rules", index_version=RULES_VERSION
            ),
        )
        decision = await _decide(agent, places, found, rules)
        agent.set_state("decision", decision)
        agent.checkpoint("triaged", {"ticket": ticket})
        await agent.send("billing", {"ticket": found, "refund": decision["refund"]})


async def _decide(agent: Agent, places: Places, ticket: Mapping[str, object], rules: object) -> Mapping[str, object]:
    answer = await agent.model(
        DeskModel(places["seed"]).complete,
        provider="scripted",
        prompt_template="triage/3",
        model="desk-1",
        temperature=0.0,
        messages=[
            {"role": "system", "content": "Decide what this ticket deserves under the rules."},
            {"role": "system", "content": json.dumps(rules)},
            {"role": "user", "content": json.dumps(ticket)},
        ],
    )
    return cast("Mapping[str, object]", json.loads(str(cast("Mapping[str, object]", answer)["content"])))


async def _billing(run: Run, places: Places) -> None:
    async with run.agent("billing", role="books refunds") as agent:
        request = cast("dict[str, dict[str, object]]", await agent.receive())
        ticket = request["ticket"]
        rate, earlier = await asyncio.gather(
            agent.call(exchange_rate, places["service_port"], str(ticket["currency"])),
            agent.call(refunds_of, places["database"], str(ticket["customer"])),
        )
        amount = round(float(cast("float", request["refund"])) * rate, 2)
        facts = {"ticket": ticket["id"], "customer": ticket["customer"], "amount_eur": amount}
        if await _allowed(agent, places, facts, len(earlier)):
            number = await agent.call(
                book_refund, places["database"], str(ticket["id"]), str(ticket["customer"]), amount
            )
            agent.set_state("refund", number)
        agent.checkpoint("decided", facts)
        await agent.send("mailer", facts)
        await agent.send("auditor", {"from": "billing", **facts})


async def _allowed(agent: Agent, places: Places, facts: Mapping[str, object], earlier: int) -> bool:
    amount = cast("float", facts["amount_eur"])
    said = await agent.policy(may_refund, amount, earlier, policy_id="refunds", policy_version="7")
    if cast("Mapping[str, object]", said)["decision"] != "allow":
        return False
    if amount < _APPROVAL_FROM_EUR:
        return True
    digest = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).digest()
    approval = await agent.approval(ask_supervisor, places["service_port"], dict(facts), action_digest=digest)
    return cast("Mapping[str, object]", approval)["granted"] is True


def may_refund(amount_eur: float, earlier_refunds: int) -> dict[str, object]:
    """The refund policy."""
    if amount_eur > 500 or earlier_refunds > 2:
        return {"decision": "deny", "reasons": ["more than 500 EUR or more than two refunds need a person"]}
    return {"decision": "allow", "reasons": []}
