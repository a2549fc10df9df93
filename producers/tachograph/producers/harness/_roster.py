"""Which plug-ins of a session are open, and what they said; the same in a recording and in its replay."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import cast

from tachograph.core.boundary import Agent
from tachograph.producers.harness._facts import PluginFacts, disabled, facts_of
from tachograph.producers.harness._plan import Plan, changed_plugins
from tachograph.producers.harness._plugins import Registry
from tachograph.producers.harness._ports import PORTS, Port
from tachograph.producers.harness._workshop import Workshop

Saved = Mapping[str, object]
"""State of a plug-in as it was kept: `{"version", "state"}`."""


class Roster:
    """Opens plug-ins when they are first needed; one that breaks is out, and so is what needs it."""

    def __init__(self, agent: Agent, workshop: Workshop, plan: Plan, saved: Mapping[str, Saved]) -> None:
        self._agent = agent
        self.workshop = workshop
        self.plan = plan
        self._saved = dict(saved)
        self._known: dict[str, PluginFacts] = {}
        self._opening = asyncio.Lock()

    async def opened(self, name: str, port: Port) -> PluginFacts:
        """The plug-in's facts, to use it as this port; it is opened when this is the first time it is needed."""
        if name not in self._known:
            async with self._opening:
                for each in self.plan.closure(name):
                    if each not in self._known:
                        await self._open(each)
        facts = self._known[name]
        if facts.ready and port not in facts.ports:
            return self._misplaced(name, port)
        return facts

    def disable(self, name: str, reason: str) -> PluginFacts:
        """Take a plug-in out of the session, and say so in the agent's state."""
        facts = self._known[name] = disabled(name, reason)
        self._agent.set_state(f"plugin/{name}", {"disabled": reason})
        return facts

    async def states(self) -> dict[str, Saved]:
        """The states of the stateful plug-ins; of those not opened or broken, the ones they were to be given."""
        kept = {name: saved for name, saved in self._saved.items() if not self._ready(name)}
        for name, facts in list(self._known.items()):
            if self._ready(name) and facts.stateful:
                saved = await self._state_of(name)
                if saved is not None:
                    kept[name] = saved
        return kept

    async def reload(self, plan: Plan, registry: Registry) -> frozenset[str]:
        """Go on with another plan; the plug-ins that it changes are made anew with their predecessors' state."""
        changed = changed_plugins(self.plan, plan)
        gone = changed | (self.plan.plugins.keys() - plan.plugins.keys())
        states = await self.states()
        self._saved = {name: saved for name, saved in states.items() if name in plan.plugins}
        self._known = {name: facts for name, facts in self._known.items() if name not in gone}
        self.plan = plan
        self.workshop.adopt(plan, registry)
        await self._agent.call(self.workshop.discard, sorted(gone))
        return changed

    async def close(self) -> None:
        """End every plug-in of the session."""
        await self._agent.call(self.workshop.discard, sorted(self._known))
        self._known = {}

    def _ready(self, name: str) -> bool:
        return name in self._known and self._known[name].ready

    def _misplaced(self, name: str, port: Port) -> PluginFacts:
        """A plug-in named for a port that it cannot serve; elsewhere it may be right."""
        facts = disabled(name, f"it cannot serve as {port}: that takes {' and '.join(PORTS[port])}")
        if self._agent.get_state(f"plugin/{name}/{port}") is None:
            self._agent.set_state(f"plugin/{name}/{port}", {"disabled": facts.reason})
        return facts

    async def _open(self, name: str) -> None:
        for need in self.plan.plugins[name].needs:
            if not self._known[need].ready:
                self.disable(name, f"it needs {need!r}, which is disabled: {self._known[need].reason}")
                return
        answer = await self._agent.call(self.workshop.open, name, self._saved.get(name))
        facts = facts_of(name, answer)
        if facts.ready:
            self._known[name] = facts
        else:
            self.disable(name, facts.reason or "")

    async def _state_of(self, name: str) -> Saved | None:
        try:
            return cast("Saved", await self._agent.call(self.workshop.state_of, name))
        except Exception as error:
            self.disable(name, f"its state cannot be kept: {error}")
            return None
