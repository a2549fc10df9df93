"""The second process of the fleet: `mailer` writes to the customer, `auditor` files what happened.

`mailer` is the faulty one: its idempotency key is fresh for each attempt, so nothing can tell that the second attempt
is the same mail. `careful_mailer` is mended: the ticket is the key.
"""

from __future__ import annotations

import asyncio
import json
import smtplib
from collections.abc import Callable, Mapping
from typing import cast

from tachograph.core.boundary import Agent
from tachograph.producers.demo._database import file_audit
from tachograph.producers.demo._mail import mail_under
from tachograph.producers.demo._model import DeskModel
from tachograph.producers.demo._places import Places

_ATTEMPTS_MAX = 3


async def mailer(agent: Agent, places: Places) -> None:
    """Send the mail, and again when that failed: each attempt under a key of its own."""
    facts = await _facts(agent)
    await _send_letter(agent, places, facts, lambda: agent.new_id("mail"))


async def careful_mailer(agent: Agent, places: Places) -> None:
    """Send the mail, and again when that failed: each attempt under the ticket's key."""
    facts = await _facts(agent)
    await _send_letter(agent, places, facts, lambda: f"refund-mail/{facts['ticket']}")


async def auditor(agent: Agent, places: Places) -> None:
    """File what billing and mailer report."""
    reports = {str(report["from"]): report for report in [await _facts(agent), await _facts(agent)]}
    ticket = str(reports["billing"]["ticket"])
    text = f"refunded {reports['billing']['amount_eur']} EUR, mailed in {reports['mailer']['attempts']} attempt(s)"
    await agent.call(file_audit, places["database"], ticket, text)
    agent.artifact("audit", {"ticket": ticket, "text": text})
    agent.set_state("filed", ticket)


async def _facts(agent: Agent) -> Mapping[str, object]:
    return cast("Mapping[str, object]", await agent.receive())


async def _send_letter(agent: Agent, places: Places, facts: Mapping[str, object], key: Callable[[], str]) -> None:
    letter = await _letter(agent, places, facts)
    agent.artifact("letter", letter, "text/plain")
    for attempt in range(1, _ATTEMPTS_MAX + 1):
        agent.set_state("attempts", attempt)
        send_mail = mail_under(key(), places["mail_port"])
        try:
            await agent.call(send_mail, str(facts["customer"]), f"Refund for {facts['ticket']}", letter)
        except smtplib.SMTPException:
            await asyncio.sleep(agent.random("back-off").uniform(0.01, 0.05))
        else:
            await agent.send("auditor", {"from": "mailer", "attempts": attempt})
            return
    raise TimeoutError(f"no mail for {facts['ticket']} after {_ATTEMPTS_MAX} attempts")


async def _letter(agent: Agent, places: Places, facts: Mapping[str, object]) -> str:
    answer = await agent.model(
        DeskModel(places["seed"]).complete,
        provider="scripted",
        prompt_template="letter/1",
        model="desk-1",
        temperature=0.7,
        messages=[
            {"role": "system", "content": "Write to the customer."},
            {"role": "user", "content": json.dumps(dict(facts))},
        ],
    )
    return str(cast("Mapping[str, object]", answer)["content"])
