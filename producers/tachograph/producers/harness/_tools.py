"""Running the tool calls of a model: with plug-ins of this agent, the policy asked first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from tachograph.core.boundary import Agent
from tachograph.core.errors import EffectAlreadyConfirmed, EffectRefused
from tachograph.producers.harness._doors import deciding, executing
from tachograph.producers.harness._facts import ToolFacts
from tachograph.producers.harness._messages import ToolCall, result_text
from tachograph.producers.harness._ports import ToolRefused
from tachograph.producers.harness._roster import Roster
from tachograph.producers.harness._shapes import as_items, as_mapping


class ToolRunner(Protocol):
    """What a session needs of its tools."""

    async def descriptions(self) -> Sequence[Mapping[str, object]]:
        """What the model is told of the tools."""
        ...

    async def run(self, call: ToolCall) -> str:
        """Execute a call; what went wrong comes back as text, too.

        Raises:
            ReconciliationRequired: the call may already have happened: only a person or a reconciler can go on.
        """
        ...

    def together(self, calls: Sequence[ToolCall]) -> bool:
        """Whether calls of one answer may run at the same time."""
        ...


class LocalTools:
    """Tools from the plug-ins of the session's own assembly."""

    def __init__(self, agent: Agent, roster: Roster) -> None:
        self._agent = agent
        self._roster = roster
        self._offered: dict[str, ToolFacts] = {}

    async def descriptions(self) -> Sequence[Mapping[str, object]]:
        """What the tools of all plug-ins that work are."""
        await self._take_stock()
        return [dict(facts.description) for facts in self._offered.values()]

    async def run(self, call: ToolCall) -> str:
        """Execute a call, when the policy allows it."""
        if not self._offered:
            await self._take_stock()
        facts = self._offered.get(call.name)
        if call.fault is not None or facts is None:
            return f"Error: {call.fault or self._unknown(call.name)}"
        lacking = [name for name in facts.idempotency if name not in call.arguments]
        if lacking:
            return f"Error: {call.name} needs the argument {lacking[0]!r}: by it the same call is known again"
        refusal = await self._refusal(call, facts)
        return f"Error: {refusal}" if refusal is not None else await self._execute(call, facts)

    def together(self, calls: Sequence[ToolCall]) -> bool:
        """True when none of them changes the world."""
        known = [self._offered.get(call.name) for call in calls]
        return all(facts is None or facts.effect != "write" for facts in known)

    async def _take_stock(self) -> None:
        self._offered = {}
        for name in self._roster.plan.tools:
            facts = await self._roster.opened(name, "tools")
            double = next((row.name for row in facts.tools if row.name in self._offered), None)
            if double is not None:
                owner = self._offered[double].plugin
                facts = self._roster.disable(name, f"it offers the tool {double!r}, which {owner!r} offers already")
            self._offered.update({row.name: row for row in facts.tools})

    async def _refusal(self, call: ToolCall, facts: ToolFacts) -> str | None:
        """Why the policy does not let the call leave; a policy that cannot be asked lets nothing leave."""
        name = self._roster.plan.policy
        if name is None:
            return None
        policy = await self._roster.opened(name, "policy")
        if not policy.ready:
            return f"the policy {name!r} cannot be asked: {policy.reason}"
        try:
            said = await self._agent.policy(
                deciding(self._roster.workshop, name),
                call.name,
                call.arguments,
                facts.effect,
                policy_id=name,
                policy_version=policy.version or "",
            )
        except Exception as error:
            return f"the policy {name!r} gave no decision: {error}"
        return _denial(name, said)

    async def _execute(self, call: ToolCall, facts: ToolFacts) -> str:
        function = executing(self._roster.workshop, facts)
        try:
            return result_text(await self._agent.call(function, **call.arguments))
        except ToolRefused as refused:
            return str(refused)
        except EffectAlreadyConfirmed as confirmed:
            return f"Error: {confirmed}"
        except EffectRefused:
            raise
        except Exception as error:
            doubt = " It may have happened all the same: do not repeat it." if facts.effect == "write" else ""
            return f"Error: {error}.{doubt}"

    def _unknown(self, name: str) -> str:
        return f"there is no tool {name!r}; there are {', '.join(self._offered) or 'none'}"


def _denial(name: str, said: object) -> str | None:
    decision = as_mapping(said)
    if decision is None:
        return f"the policy {name!r} gave {said!r} in place of a decision"
    if decision.get("decision") == "allow":
        return None
    texts = [str(reason) for reason in as_items(decision.get("reasons")) or ()]
    return f"the policy {name!r} does not allow it: {'; '.join(texts) or 'it gave no reason'}"
