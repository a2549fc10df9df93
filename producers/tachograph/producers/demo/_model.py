"""The fleet's model: scripted, and varied by a seed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence

from tachograph.core.boundary import tool
from tachograph.producers.demo._seeded import seeded_choice

_GREETINGS = ("Good news", "Thank you for your patience", "We are sorry for the trouble")


class DeskModel:
    """Answers the desk's two questions: what to do with a ticket, and what to write to its customer."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    @tool(name="desk-model")
    async def complete(
        self, *, model: str, messages: Sequence[Mapping[str, object]], **parameters: float
    ) -> dict[str, object]:
        """The next assistant message, in the form that chat APIs agree on."""
        await asyncio.sleep(0)
        task, facts = str(messages[0]["content"]), json.loads(str(messages[-1]["content"]))
        text = self._triage(facts) if task.startswith("Decide") else self._letter(facts)
        words = sum(len(str(message["content"]).split()) for message in messages)
        return {
            "role": "assistant",
            "content": text,
            "model": model,
            "stop_reason": "end",
            "usage": {"input_tokens": words, "output_tokens": len(text.split())},
        }

    def _triage(self, facts: Mapping[str, object]) -> str:
        damaged = "damaged" in str(facts["text"])
        return json.dumps({"refund": facts["paid"] if damaged else 0, "reason": "damaged" if damaged else "none"})

    def _letter(self, facts: Mapping[str, object]) -> str:
        greeting = seeded_choice(self._seed, "greeting", _GREETINGS)
        return f"{greeting}: we refund {facts['amount_eur']} EUR for ticket {facts['ticket']}."
