"""The loop: model answer, tool calls, results, and again, until a final answer or too many rounds."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from tachograph.core.boundary import Agent
from tachograph.core.errors import CallerError, PluginDisabled
from tachograph.producers.harness._doors import asking, recalling, remembering
from tachograph.producers.harness._messages import ToolCall, spoken, text_of, tool_calls_of, tool_message
from tachograph.producers.harness._plan import Plan
from tachograph.producers.harness._plugins import Registry
from tachograph.producers.harness._ports import Message
from tachograph.producers.harness._reading import plan_of
from tachograph.producers.harness._roster import Roster
from tachograph.producers.harness._shapes import as_items, as_mapping
from tachograph.producers.harness._snapshot import Snapshot
from tachograph.producers.harness._source import PlanFile
from tachograph.producers.harness._tools import LocalTools, ToolRunner
from tachograph.producers.harness._workshop import Workshop


@dataclass(frozen=True, slots=True)
class Turn:
    """How a turn ended."""

    text: str | None
    """The final answer; None when the turn was stopped before there was one."""
    rounds: int
    """Model answers in this turn."""
    stopped: Literal["answer", "rounds_max"]


class Session:
    """One conversation with an assembly; every port is asked through the agent's boundary."""

    def __init__(
        self,
        agent: Agent,
        plan: Plan,
        registry: Registry,
        *,
        tools: ToolRunner | None = None,
        snapshot: Snapshot | None = None,
        source: PlanFile | None = None,
    ) -> None:
        """A session that goes on from `snapshot`, or begins anew.

        Args:
            agent: the agent whose control logic this is.
            plan: the assembly.
            registry: where the plug-ins that the plan uses come from.
            tools: what executes tool calls; by default the plug-ins of the plan.
            snapshot: what an earlier session left.
            source: the file to look at between rounds, for hot reload.
        """
        start = snapshot or Snapshot(agent.id)
        self.id = start.session
        self._agent = agent
        self._source = source
        self._messages = _without_opening(start.messages)
        self._rounds = start.rounds
        self._roster = Roster(agent, Workshop(plan, registry), plan, start.plugins)
        self._tools = tools or LocalTools(agent, self._roster)

    @property
    def rounds(self) -> int:
        """Model answers so far."""
        return self._rounds

    @property
    def messages(self) -> Sequence[Message]:
        """The conversation so far, behind the assembly's system message."""
        system = self._roster.plan.system
        opening: Sequence[Message] = ({"role": "system", "content": system},) if system else ()
        return (*opening, *self._messages)

    async def turn(self, text: str, *, rounds_max: int | None = None) -> Turn:
        """Give the model a user's message and run rounds until it answers.

        Raises:
            PluginDisabled: the model's plug-in is disabled; the message says why.
            ReconciliationRequired: a tool call may already have happened.
        """
        begin = len(self._messages)
        self._messages += [*await self._recalled(text), {"role": "user", "content": text}]
        turn = await self._rounds_of_turn(rounds_max)
        await self._remember(self._messages[begin:])
        return turn

    async def snapshot(self) -> Snapshot:
        """The session as it stands, also recorded as a checkpoint."""
        states = await self._roster.states()
        kept = Snapshot(self.id, self.messages, self._rounds, self._roster.plan.digest, states)
        self._agent.checkpoint("session", kept.to_plain())
        return kept

    async def close(self) -> None:
        """End the session's plug-ins."""
        await self._roster.close()

    async def _rounds_of_turn(self, rounds_max: int | None) -> Turn:
        taken = 0
        while taken < (self._roster.plan.rounds_max if rounds_max is None else rounds_max):
            await self._reload()
            answer = await self._ask()
            taken += 1
            self._rounds += 1
            self._messages.append(spoken(answer))
            calls = tool_calls_of(answer)
            if calls:
                await self._run(calls)
            await self._snapshot_when_due()
            if not calls:
                return Turn(text_of(answer), taken, "answer")
        return Turn(None, taken, "rounds_max")

    async def _ask(self) -> Message:
        name = self._roster.plan.model
        model = await self._roster.opened(name, "model")
        if not model.ready:
            raise PluginDisabled(name, model.reason or "")
        request = dict(self._roster.plan.parameters)
        provider, version = request.pop("provider", ""), request.pop("model_version", None)
        answer = await self._agent.model(
            asking(self._roster.workshop, name),
            provider=str(provider),
            model_version=None if version is None else str(version),
            prompt_template=None,
            **request | {"messages": list(self.messages), "tools": list(await self._tools.descriptions())},
        )
        return as_mapping(answer) or {"content": str(answer)}

    async def _run(self, calls: Sequence[ToolCall]) -> None:
        if self._tools.together(calls):
            results = await asyncio.gather(*(self._tools.run(call) for call in calls))
        else:
            results = [await self._tools.run(call) for call in calls]
        self._messages += [tool_message(call, text) for call, text in zip(calls, results, strict=True)]

    async def _recalled(self, text: str) -> Sequence[Message]:
        name = self._roster.plan.memory
        if name is None or not (await self._roster.opened(name, "memory")).ready:
            return ()
        try:
            found = as_items(await self._agent.memory(recalling(self._roster.workshop, name), self.id, text))
        except Exception as error:
            self._roster.disable(name, f"it cannot recall: {error}")
            return ()
        messages = [as_mapping(message) for message in found or ()]
        if found is None or None in messages:
            self._roster.disable(name, f"what it recalls are not messages: {found!r}")
        return [message for message in messages if message is not None]

    async def _remember(self, messages: Sequence[Message]) -> None:
        name = self._roster.plan.memory
        if name is None or not (await self._roster.opened(name, "memory")).ready:
            return
        try:
            await self._agent.memory(remembering(self._roster.workshop, name), self.id, list(messages))
        except Exception as error:
            self._roster.disable(name, f"it cannot remember: {error}")

    async def _snapshot_when_due(self) -> None:
        every = self._roster.plan.snapshot_rounds
        if every and self._rounds % every == 0:
            await self.snapshot()

    async def _reload(self) -> None:
        """Take up a changed assembly; one that cannot be used changes nothing and is stated."""
        if self._source is None:
            return
        try:
            text = await self._source.news(self._agent)
            if text is None:
                return
            registry = await self._source.plugins(self._agent)
            plan = plan_of(text, registry)
        except CallerError as error:
            self._agent.set_state("assembly_refused", str(error))
            return
        changed = await self._roster.reload(plan, registry)
        _state_assembly(self._agent, plan, changed)


async def open_session(
    agent: Agent, path: str, *, registry: Registry | None = None, snapshot: Snapshot | None = None
) -> Session:
    """A session assembled from a YAML file, which is looked at again between rounds.

    Args:
        agent: the agent whose control logic this is.
        path: the file.
        registry: the plug-ins there are; by default those of the installed packages.
        snapshot: what an earlier session left.

    Raises:
        UnreadableInput: there is no such file.
        InvalidSetting: the assembly cannot be; the message names the place, the value and the way out.
    """
    source = PlanFile(path, registry)
    text = await source.news(agent) or ""
    found = await source.plugins(agent)
    plan = plan_of(text, found)
    _state_assembly(agent, plan, plan.plugins)
    return Session(agent, plan, found, snapshot=snapshot, source=source)


def _without_opening(messages: Sequence[Message]) -> list[Message]:
    return list(messages[1:] if messages and messages[0].get("role") == "system" else messages)


def _state_assembly(agent: Agent, plan: Plan, changed: Collection[str]) -> None:
    agent.checkpoint("assembly", {"digest": plan.digest, "plugins": list(plan.plugins), "made": sorted(changed)})
    agent.set_state("assembly", plan.digest)
