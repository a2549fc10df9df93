"""What tests of the harness share: plug-ins that record what was done to them, and one call to run a session."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

from recordings import check_run, payloads_of
from tachograph.core.boundary import Agent, Receipted, Run
from tachograph.producers import Recorder
from tachograph.producers.harness import Factory, Plan, PluginPlan, Registry, ScriptedModel, ToolRefused
from tachograph.schemas import Event

Journal = list[str]


def call(name: str, arguments: str = "{}", identity: str = "c1") -> dict[str, object]:
    """An assistant message that asks for one tool call."""
    return calls((name, arguments, identity))


def calls(*wanted: tuple[str, str, str]) -> dict[str, object]:
    """An assistant message that asks for tool calls: name, arguments as JSON, id."""
    tool_calls = [
        {"id": identity, "type": "function", "function": {"name": name, "arguments": arguments}}
        for name, arguments, identity in wanted
    ]
    return {"content": None, "tool_calls": tool_calls}


class Shop:
    """Tools on a shelf; keeps its sales as state."""

    state_version = 2

    def __init__(self, journal: Journal, settings: Mapping[str, object]) -> None:
        self._journal = journal
        self._settings = settings
        self.sold: list[str] = []
        journal.append("made shop")

    def catalogue(self) -> Sequence[Mapping[str, object]]:
        return [
            {"name": "look", "description": "What is there.", "effect": "read"},
            {"name": "buy", "effect": "write", "idempotency": ["order"], "version": "3"},
            {"name": "smash"},
        ]

    async def execute(self, name: str, arguments: Mapping[str, object]) -> object:
        self._journal.append(f"executed {name}")
        if name == "look":
            await asyncio.sleep(0)
            return {"shelf": self._settings.get("shelf", []), "sold": list(self.sold)}
        if name == "smash":
            raise ConnectionError("the line is dead")
        if arguments.get("item") == "nothing":
            raise ToolRefused("Error: there is no such item")
        self.sold.append(str(arguments.get("item")))
        return Receipted("bought", {"bill": len(self.sold)})

    def dehydrate(self) -> object:
        return {"sold": list(self.sold)}

    def hydrate(self, state: object) -> None:
        assert isinstance(state, Mapping)
        self._journal.append(f"hydrated shop {state['sold']}")
        self.sold = list(state["sold"])

    def migrate(self, state: object, version: int) -> object:
        self._journal.append(f"migrated shop from {version}")
        return {"sold": state}

    def close(self) -> None:
        self._journal.append("closed shop")


def shop(journal: Journal) -> Factory:
    """Makes a shop."""
    return lambda settings, needs: Shop(journal, settings)


def broken(reason: str) -> Factory:
    """Makes nothing."""

    def make(settings: Mapping[str, object], needs: Mapping[str, object]) -> object:
        raise OSError(reason)

    return make


def plan(
    answers: Sequence[object], *others: PluginPlan, tools: Sequence[str] = (), **ports: object
) -> tuple[Plan, Registry]:
    """An assembly whose model gives these answers, with other plug-ins; and the registry for its model."""
    plugins = {"brain": PluginPlan("brain", "scripted", (), {"answers": list(answers)})}
    plugins |= {other.name: other for other in others}
    made = Plan(plugins=plugins, model="brain", tools=tuple(tools), **ports)  # type: ignore[arg-type]
    return made, {"scripted": ScriptedModel}


def recorded(home: Path, logic: Callable[[Agent], Awaitable[None]]) -> list[Event]:
    """Record a run with one agent; its events, the run's invariants checked."""

    async def desk(run: Run) -> None:
        async with run.agent("desk") as agent:
            await logic(agent)

    async def record() -> str:
        async with recorder.run("session") as run:
            await desk(run)
        return run.id

    with Recorder(home) as recorder:
        run_id = asyncio.run(record())
    return check_run(payloads_of(home, run_id))
