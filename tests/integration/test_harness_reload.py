"""An assembly that changes is taken up between rounds, and a session goes on from a snapshot."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from harness_support import Journal, Shop, call, plan, recorded, shop
from tachograph.core.boundary import Agent
from tachograph.core.errors import InvalidSetting, UnreadableInput
from tachograph.producers.harness import (
    Factory,
    LocalTools,
    PluginPlan,
    RemoteTools,
    Roster,
    ScriptedModel,
    Session,
    Snapshot,
    Turn,
    Workshop,
    open_session,
    serve_tools,
)
from tachograph.schemas import CallStarted, Checkpointed, Event

BUY, BUY_2, BUY_3 = (call("buy", f'{{"order": {number}, "item": "teapot"}}') for number in range(3))


def assembly(answers: Sequence[object], *, shelf: str = "teapot", system: str = "one", more: str = "") -> str:
    """An assembly with a scripted model and a shop, as YAML."""
    return (
        f"system: {system}\nplugins:\n  brain: {{use: scripted, settings: {{answers: {answers!r}}}}}\n".replace(
            "None", "null"
        )
        + f"  shop: {{use: shop, settings: {{shelf: [{shelf}]}}}}\n{more}"
        + "ports: {model: brain, tools: [shop]}\n"
    )


class Editor:
    """A shop whose `buy` rewrites the assembly's file while the session runs."""

    def __init__(self, inner: Factory, path: Path, texts: list[str]) -> None:
        self._inner, self._path, self._texts = inner, path, texts

    def __call__(self, settings: Mapping[str, object], needs: Mapping[str, object]) -> object:
        made = self._inner(settings, needs)
        assert isinstance(made, Shop)
        execute = made.execute

        async def editing(name: str, arguments: Mapping[str, object]) -> object:
            result = await execute(name, arguments)
            if self._texts:
                self._path.write_text(self._texts.pop(0))
            return result

        made.execute = editing  # type: ignore[method-assign]
        return made


def checkpoints(events: Sequence[Event], name: str) -> int:
    """How many checkpoints of a name there are."""
    return sum(isinstance(event, Checkpointed) and event.name == name for event in events)


def test_a_changed_file_is_taken_up_at_the_next_round(tmp_path: Path) -> None:
    """Changed plug-ins are made anew and given their predecessor's state; the others live on."""
    path, journal = tmp_path / "desk.yaml", []
    answers = [BUY, call("look"), "done"]
    path.write_text(assembly(answers))
    registry = {
        "scripted": ScriptedModel,
        "shop": Editor(shop(journal), path, [assembly(answers, shelf="globe", system="two")]),
    }

    async def logic(agent: Agent) -> None:
        session = await open_session(agent, str(path), registry=registry)
        assert await session.turn("go") == Turn("done", 3, "answer")
        assert session.messages[0] == {"role": "system", "content": "two"}
        assert session.messages[5]["content"] == '{"shelf": ["globe"], "sold": ["teapot"]}'

    events = recorded(tmp_path / "home", logic)
    assert journal == [
        "made shop", "executed buy", "closed shop", "made shop", "hydrated shop ['teapot']", "executed look",
    ]  # fmt: skip
    assert checkpoints(events, "assembly") == 2
    opened = [event for event in events if isinstance(event, CallStarted) and event.name == "harness.open"]
    assert len(opened) == 3, "the model, whose entry is the same, is not made anew"


def test_a_changed_file_that_cannot_be_used_changes_nothing(tmp_path: Path) -> None:
    """The session goes on with the assembly it has and states why; a mended file is taken up again."""
    path = tmp_path / "desk.yaml"
    answers = [BUY, BUY_2, BUY_3, "done"]
    path.write_text(assembly(answers))
    texts = ["plugins: [", assembly(answers).replace("use: shop", "use: pigeon"), assembly(answers, system="three")]
    registry = {"scripted": ScriptedModel, "shop": Editor(shop([]), path, texts)}
    seen: list[object] = []

    async def logic(agent: Agent) -> None:
        session = await open_session(agent, str(path), registry=registry)
        assert (await session.turn("go")).text == "done"
        seen.append(agent.get_state("assembly_refused"))
        assert session.messages[0]["content"] == "three"

    recorded(tmp_path / "home", logic)
    assert "plugins.shop.use = 'pigeon'" in str(seen[0])


def test_an_assembly_that_vanishes_is_stated_and_one_that_never_was_is_an_error(tmp_path: Path) -> None:
    """The running session keeps what it has; a new one has nothing to begin with."""
    path = tmp_path / "desk.yaml"
    path.write_text(assembly([BUY, "done"]))

    def vanishing(settings: Mapping[str, object], needs: Mapping[str, object]) -> object:
        path.unlink()
        return Shop([], settings)

    async def logic(agent: Agent) -> None:
        session = await open_session(agent, str(path), registry={"scripted": ScriptedModel, "shop": vanishing})
        assert (await session.turn("go")).text == "done"
        assert "desk.yaml" in str(agent.get_state("assembly_refused"))
        with pytest.raises(UnreadableInput, match=r"desk\.yaml.*Give the path of a YAML file"):
            await open_session(agent, str(path), registry={})

    recorded(tmp_path / "home", logic)


def test_a_session_goes_on_from_its_snapshot(tmp_path: Path) -> None:
    """Conversation, rounds and the plug-ins' states are all there; the snapshot is plain data."""
    journal: Journal = []
    made, registry = plan([BUY, "first", call("look"), "second"], PluginPlan("shop", "shop"), tools=["shop"])
    registry = {**registry, "shop": shop(journal)}

    async def logic(agent: Agent) -> None:
        first = Session(agent, made, registry)
        await first.turn("buy")
        kept = (await first.snapshot()).to_plain()
        second = Session(agent, made, registry, snapshot=Snapshot.from_plain(kept))
        assert (await second.turn("look")).text == "second"
        assert second.rounds == 4
        assert len(second.messages) == 8
        assert '"sold": ["teapot"]' in str(second.messages[6]["content"])

    recorded(tmp_path, logic)
    assert "hydrated shop ['teapot']" in journal


def test_state_of_another_version_needs_a_migration(tmp_path: Path) -> None:
    """A plug-in that can read it is asked to; one that cannot is out, with the version in the reason."""
    journal: Journal = []
    old = {"shop": {"version": 1, "state": ["lamp"]}, "brain": {"version": 9, "state": 0}}
    made, registry = plan([call("look"), "ok"], PluginPlan("shop", "shop"), tools=["shop"])

    async def logic(agent: Agent) -> None:
        snapshot = Snapshot("s", plugins={"shop": old["shop"]})
        session = Session(agent, made, {**registry, "shop": shop(journal)}, snapshot=snapshot)
        await session.turn("go")
        assert '"sold": ["lamp"]' in str(session.messages[2]["content"])
        other = Session(agent, made, {**registry, "shop": shop(journal)}, snapshot=Snapshot("t", plugins=old))
        with pytest.raises(Exception, match="state_version = 9: ScriptedModel reads version 1; give it a migrate"):
            await other.turn("go")

    recorded(tmp_path, logic)
    assert journal[:3] == ["made shop", "migrated shop from 1", "hydrated shop ['lamp']"]


@pytest.mark.parametrize("plain", [None, [], {}, {"version": 2}, {"version": 1}, {"version": 1, "session": "s"}])
def test_what_is_no_snapshot_is_refused(plain: object) -> None:
    """The error names the version it found or the field that is missing."""
    with pytest.raises(InvalidSetting, match="snapshot"):
        Snapshot.from_plain(plain)


def test_tools_of_another_agent_are_called_by_message(tmp_path: Path) -> None:
    """The model's agent sends the call, the other executes it, and both are in the record."""
    made, registry = plan([BUY, call("juggle"), "ok"])
    journal: Journal = []

    async def logic(agent: Agent) -> None:
        remote = RemoteTools(agent, "store")
        session = Session(agent, made, registry, tools=remote)

        async def store() -> int:
            async with agent.agent("store") as keeper:
                own, own_registry = plan([], PluginPlan("shop", "shop"), tools=["shop"])
                workshop = Workshop(own, {**own_registry, "shop": shop(journal)})
                return await serve_tools(keeper, LocalTools(keeper, Roster(keeper, workshop, own, {})))

        serving = asyncio.create_task(store())
        await session.turn("go")
        await remote.close()
        assert await serving == 2
        assert session.messages[2]["content"] == "bought"
        assert "no tool 'juggle'" in str(session.messages[4]["content"])

    recorded(tmp_path, logic)
    assert journal == ["made shop", "executed buy"]
