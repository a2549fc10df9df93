"""A session runs rounds over four ports; all of it crosses the agent's boundary and is recorded."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from harness_support import Journal, broken, call, calls, plan, recorded, shop
from recordings import named
from tachograph.core.boundary import Agent
from tachograph.core.errors import PluginDisabled, ReconciliationRequired
from tachograph.producers.harness import NamedTools, PluginPlan, RecentMemory, Registry, Session, Turn, open_session
from tachograph.schemas import CallFinished, CallOutcome, CallStarted, Checkpointed, StateChanged


def test_rounds_go_on_until_the_model_answers(tmp_path: Path) -> None:
    """Tool calls are executed, their results stand in the next request, and the last answer ends the turn."""
    journal: Journal = []
    assembly, registry = plan(
        [call("look"), call("buy", '{"order": "o1", "item": "teapot"}', "c2"), "done"],
        PluginPlan("shop", "shop", (), {"shelf": ["teapot"]}),
        tools=["shop"],
        system="You sell teapots.",
        parameters={"model": "tiny-1", "provider": "none"},
    )

    async def logic(agent: Agent) -> None:
        session = Session(agent, assembly, {**registry, "shop": shop(journal)})
        assert await session.turn("a teapot, please") == Turn("done", 3, "answer")
        assert [message["role"] for message in session.messages] == [
            "system", "user", "assistant", "tool", "assistant", "tool", "assistant",
        ]  # fmt: skip
        assert session.messages[3]["content"] == '{"shelf": ["teapot"], "sold": []}'

    events = recorded(tmp_path, logic)
    started = [event for event in events if isinstance(event, CallStarted)]
    assert [(event.kind, event.name) for event in started] == [
        ("tool", "harness.open"), ("tool", "harness.open"), ("model", "brain"), ("tool", "look"),
        ("tool", "harness.state"), ("tool", "harness.state"), ("model", "brain"), ("tool", "buy"),
        ("tool", "harness.state"), ("tool", "harness.state"), ("model", "brain"),
        ("tool", "harness.state"), ("tool", "harness.state"),
    ]  # fmt: skip
    buy = next(event for event in started if event.name == "buy")
    assert (buy.effect, buy.idempotency_key, buy.version) == ("write", '["o1"]', "3")
    finished = {event.call_id: event for event in events if isinstance(event, CallFinished)}
    assert finished[buy.meta.seq].receipt is not None
    assert len([event for event in events if isinstance(event, Checkpointed)]) == 3
    assert journal == ["made shop", "executed look", "executed buy"]


def test_a_turn_is_stopped_after_its_rounds(tmp_path: Path) -> None:
    """A model that never answers is stopped; the conversation is whole up to there."""
    assembly, registry = plan([call("look")] * 5, PluginPlan("shop", "shop"), tools=["shop"], rounds_max=2)

    async def logic(agent: Agent) -> None:
        session = Session(agent, assembly, {**registry, "shop": shop([])})
        assert await session.turn("look") == Turn(None, 2, "rounds_max")
        assert await session.turn("look", rounds_max=1) == Turn(None, 1, "rounds_max")
        assert session.rounds == 3

    recorded(tmp_path, logic)


def test_the_policy_is_asked_before_every_tool_call(tmp_path: Path) -> None:
    """What it denies does not leave, and the model is told why."""
    journal: Journal = []
    assembly, registry = plan(
        [call("look"), call("buy", '{"order": 1, "item": "teapot"}'), "ok"],
        PluginPlan("shop", "shop"),
        PluginPlan("guard", "named", (), {"deny": ["smash"]}),
        tools=["shop"],
        policy="guard",
    )

    async def logic(agent: Agent) -> None:
        session = Session(agent, assembly, {**registry, "shop": shop(journal), "named": NamedTools})
        await session.turn("go")
        assert "does not allow it: buy changes the world" in str(session.messages[4]["content"])

    events = recorded(tmp_path, logic)
    decisions = [event for event in events if isinstance(event, CallStarted) and event.kind == "policy"]
    assert [event.details.policy_version for event in decisions] == ["1", "1"]  # type: ignore[union-attr]
    assert journal == ["made shop", "executed look"]


def test_reads_of_one_answer_run_at_the_same_time_and_writes_one_after_the_other(tmp_path: Path) -> None:
    """Results stand in the order of the calls either way."""
    assembly, registry = plan(
        [
            calls(("look", "{}", "a"), ("look", "{}", "b")),
            calls(("buy", '{"order": 1, "item": "x"}', "c"), ("look", "{}", "d")),
            "ok",
        ],
        PluginPlan("shop", "shop"),
        tools=["shop"],
    )

    async def logic(agent: Agent) -> None:
        session = Session(agent, assembly, {**registry, "shop": shop([])})
        await session.turn("go")
        results = [message for message in session.messages if message["role"] == "tool"]
        assert [message["tool_call_id"] for message in results] == ["a", "b", "c", "d"]
        assert '"sold": ["x"]' in str(results[3]["content"])

    events = recorded(tmp_path, logic)
    tools = [event for event in events if isinstance(event, CallStarted | CallFinished)]
    looks = [event.meta.seq for event in tools if isinstance(event, CallStarted) and event.name == "look"]
    assert looks[1] == looks[0] + 1, "the second read starts before the first is back"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (call("juggle"), "there is no tool 'juggle'; there are look, buy, smash"),
        (call("look", "{not json"), "the arguments are not JSON"),
        (call("look", "[1]"), "not a JSON object"),
        (call("buy", '{"item": "x"}'), "buy needs the argument 'order'"),
        ({"tool_calls": ["what?"]}, "not a tool call"),
        (call("buy", '{"order": 1, "item": "nothing"}'), "Error: there is no such item"),
        (call("smash"), "the line is dead. It may have happened all the same: do not repeat it."),
    ],
)
def test_what_goes_wrong_with_a_call_is_told_to_the_model(
    tmp_path: Path, answer: dict[str, object], words: str
) -> None:
    """Nothing that a model asks for, however strange, ends the session."""
    assembly, registry = plan([answer, "I see"], PluginPlan("shop", "shop"), tools=["shop"])

    async def logic(agent: Agent) -> None:
        session = Session(agent, assembly, {**registry, "shop": shop([])})
        assert (await session.turn("go")).text == "I see"
        assert words in str(session.messages[2]["content"])

    recorded(tmp_path, logic)


def test_a_refusal_is_a_failed_effect_and_any_other_error_an_unknown_one(tmp_path: Path) -> None:
    """A tool that proves that nothing happened may be tried again; of a dead line nobody knows."""
    assembly, registry = plan(
        [call("buy", '{"order": 1, "item": "nothing"}'), call("smash"), "ok"],
        PluginPlan("shop", "shop"),
        tools=["shop"],
    )

    async def logic(agent: Agent) -> None:
        await Session(agent, assembly, {**registry, "shop": shop([])}).turn("go")

    events = recorded(tmp_path, logic)
    calls_out = {event.meta.seq: event.name for event in events if isinstance(event, CallStarted)}
    outcomes = {calls_out[e.call_id]: e.outcome for e in events if isinstance(e, CallFinished)}
    assert (outcomes["buy"], outcomes["smash"]) == (CallOutcome.ERROR, CallOutcome.UNKNOWN)


def test_an_effect_that_may_have_happened_ends_the_session(tmp_path: Path) -> None:
    """The second call under the key of an UNKNOWN one is for a person to decide, not for the model."""

    class Till:
        def catalogue(self) -> list[Mapping[str, object]]:
            return [{"name": "pay", "effect": "write", "idempotency": ["bill"]}]

        async def execute(self, name: str, arguments: Mapping[str, object]) -> object:
            raise TimeoutError("no answer")

    pay = call("pay", '{"bill": 7}')
    assembly, registry = plan([pay, pay, "ok"], PluginPlan("till", "till"), tools=["till"])

    async def logic(agent: Agent) -> None:
        session = Session(agent, assembly, {**registry, "till": lambda settings, needs: Till()})
        with pytest.raises(ReconciliationRequired, match="pay"):
            await session.turn("pay it")

    recorded(tmp_path, logic)


def test_a_broken_plugin_disables_only_itself_and_what_needs_it(tmp_path: Path) -> None:
    """The others go on; the reason stands in the agent's state."""
    assembly, registry = plan(
        [call("look"), call("hammer"), "ok"],
        PluginPlan("cellar", "broken"),
        PluginPlan("garage", "tools2", ("cellar",)),
        PluginPlan("shop", "shop"),
        PluginPlan("diary", "broken"),
        tools=["garage", "shop"],
        memory="diary",
    )

    async def logic(agent: Agent) -> None:
        with_all = {**registry, "shop": shop([]), "broken": broken("no light"), "tools2": shop([])}
        session = Session(agent, assembly, with_all)
        await session.turn("go")
        assert "shelf" in str(session.messages[2]["content"])
        assert "there is no tool 'hammer'" in str(session.messages[4]["content"])
        assert agent.get_state("plugin/cellar") == {"disabled": "OSError: no light"}
        reason = "it needs 'cellar', which is disabled: OSError: no light"
        assert agent.get_state("plugin/garage") == {"disabled": reason}
        assert agent.get_state("plugin/diary") == {"disabled": "OSError: no light"}

    events = recorded(tmp_path, logic)
    assert len([event for event in events if isinstance(event, StateChanged)]) == 3


def test_a_policy_that_cannot_be_asked_lets_nothing_leave(tmp_path: Path) -> None:
    """Broken when it is made, or broken when it is asked: closed."""

    class Muddle:
        async def decide(self, tool: str, arguments: object, effect: str) -> object:
            if tool == "look":
                raise ValueError("cannot think")
            return "perhaps"

    journal: Journal = []
    for number, (factory, words) in enumerate(
        [
            (broken("gone"), ["cannot be asked: OSError: gone", "cannot be asked"]),
            (lambda settings, needs: Muddle(), ["no decision: cannot think", "'perhaps' in place of a decision"]),
        ]
    ):
        recorded(tmp_path / str(number), partial(_denied, {"shop": shop(journal), "guard": factory}, words))
    assert journal == ["made shop", "made shop"]


async def _denied(plugins: Registry, words: Sequence[str], agent: Agent) -> None:
    assembly, registry = plan(
        [call("look"), call("buy", '{"order": 1}'), "ok"],
        PluginPlan("shop", "shop"),
        PluginPlan("guard", "guard"),
        tools=["shop"],
        policy="guard",
    )
    session = Session(agent, assembly, {**registry, **plugins})
    await session.turn("go")
    results = [str(message["content"]) for message in session.messages if message["role"] == "tool"]
    assert all(word in result for word, result in zip(words, results, strict=True))


def test_a_broken_model_is_an_error_that_names_it(tmp_path: Path) -> None:
    """There is no session without a model; one that raises ends the turn with its own error."""
    assembly, registry = plan([], PluginPlan("shop", "shop"))

    async def logic(agent: Agent) -> None:
        with pytest.raises(PluginDisabled, match="'brain' is disabled: OSError: burnt"):
            await Session(agent, assembly, {"scripted": broken("burnt"), "shop": shop([])}).turn("go")
        with pytest.raises(Exception, match="no more answers"):
            await Session(agent, assembly, registry).turn("go")

    recorded(tmp_path, logic)


def test_two_plugins_cannot_offer_the_same_tool(tmp_path: Path) -> None:
    """The first one keeps it, the second is out, and said so."""
    journal: Journal = []
    assembly, registry = plan(
        [call("look"), "ok"], PluginPlan("one", "shop"), PluginPlan("two", "shop"), tools=["one", "two"]
    )

    async def logic(agent: Agent) -> None:
        await Session(agent, assembly, {**registry, "shop": shop(journal)}).turn("go")
        assert agent.get_state("plugin/two") == {"disabled": "it offers the tool 'look', which 'one' offers already"}

    recorded(tmp_path, logic)
    assert journal.count("executed look") == 1


def test_memory_brings_what_other_sessions_said(tmp_path: Path) -> None:
    """A session's own words are not repeated to it; a memory that breaks on the way is left out from then on."""

    class Sieve(RecentMemory):
        async def remember(self, session: str, messages: object) -> None:
            raise OSError("full")

    class Rambling(RecentMemory):
        async def recall(self, session: str, text: str) -> list[str]:  # type: ignore[override]
            return ["yes", "no"]

    assembly, registry = plan(["hello", "again"], PluginPlan("diary", "recent"), memory="diary")
    diary = RecentMemory({}, {})

    async def logic(agent: Agent) -> None:
        with_memory = {**registry, "recent": lambda settings, needs: diary}
        first = Session(agent, assembly, with_memory)
        await first.turn("my name is Ada")
        await first.turn("what is it?")
        assert [message["role"] for message in first.messages] == ["user", "assistant"] * 2
        async with agent.agent("second") as other:
            second = Session(other, assembly, with_memory)
            await second.turn("who am I?")
            assert "my name is Ada" in str(second.messages[0]["content"])
        rambling = Session(agent, assembly, {**registry, "recent": Rambling})
        assert (await rambling.turn("go")).text == "hello"
        assert agent.get_state("plugin/diary") == {"disabled": "what it recalls are not messages: ['yes', 'no']"}
        third = Session(agent, assembly, {**registry, "recent": Sieve})
        await third.turn("go")
        assert agent.get_state("plugin/diary") == {"disabled": "it cannot remember: full"}
        assert (await third.turn("go")).text == "again"

    events = recorded(tmp_path, logic)
    assert {e.kind for e in events if isinstance(e, CallStarted)} == {"tool", "memory", "model"}


def test_concurrent_first_uses_open_a_plugin_once(tmp_path: Path) -> None:
    """Two tool calls at once ask the same policy: it is made once."""
    made: list[str] = []
    assembly, registry = plan(
        [calls(("look", "{}", "a"), ("look", "{}", "b"), ("look", "{}", "c")), "ok"],
        PluginPlan("shop", "shop"),
        PluginPlan("guard", "guard"),
        tools=["shop"],
        policy="guard",
    )

    def guard(settings: Mapping[str, object], needs: Mapping[str, object]) -> NamedTools:
        made.append("guard")
        return NamedTools(settings, needs)

    async def logic(agent: Agent) -> None:
        await Session(agent, assembly, {**registry, "shop": shop([]), "guard": guard}).turn("go")

    events = recorded(tmp_path, logic)
    opened = [event for event in named(events, "CallStarted") if event.name == "harness.open"]  # type: ignore[union-attr]
    assert made == ["guard"]
    assert len(opened) == 3


def test_sessions_of_many_runs_do_not_mix(tmp_path: Path) -> None:
    """Twenty sessions in one event loop: each has its own plug-ins and conversation."""

    async def logic(agent: Agent) -> None:
        async def one(number: int) -> None:
            async with agent.agent(f"desk-{number}") as own:
                buy = call("buy", f'{{"order": {number}, "item": "x"}}')
                assembly, registry = plan([buy, "ok"], PluginPlan("shop", "shop"), tools=["shop"])
                session = Session(own, assembly, {**registry, "shop": shop([])})
                await session.turn(f"hello {number}")
                assert session.id == own.id
                assert session.messages[0]["content"] == f"hello {number}"

        await asyncio.gather(*(one(number) for number in range(20)))

    recorded(tmp_path, logic)


def test_a_plugin_that_cannot_serve_its_port_is_out(tmp_path: Path) -> None:
    """The reason names what the port takes; where the plug-in is right it goes on."""
    assembly, registry = plan(["hello", "again"], PluginPlan("shop", "shop"), memory="shop", tools=["brain"])

    async def logic(agent: Agent) -> None:
        session = Session(agent, assembly, {**registry, "shop": shop([])})
        assert (await session.turn("go")).text == "hello"
        reason = "it cannot serve as memory: that takes recall and remember"
        assert agent.get_state("plugin/shop/memory") == {"disabled": reason}
        reason = "it cannot serve as tools: that takes catalogue and execute"
        assert agent.get_state("plugin/brain/tools") == {"disabled": reason}
        assert (await session.turn("go on")).text == "again"

    async def second(agent: Agent) -> None:
        made, made_registry = plan([], PluginPlan("shop", "shop"))
        session = Session(agent, replace(made, model="shop"), {**made_registry, "shop": shop([])})
        with pytest.raises(PluginDisabled, match="cannot serve as model: that takes complete"):
            await session.turn("go")

    recorded(tmp_path / "a", logic)
    recorded(tmp_path / "b", second)


def test_installed_plugins_are_found_by_their_names(tmp_path: Path) -> None:
    """Without a registry the plug-ins of installed packages are there; which ones is recorded, too."""
    path = tmp_path / "desk.yaml"
    path.write_text(
        "plugins:\n  brain: {use: scripted-model, settings: {answers: [hello]}}\n  diary: {use: recent-memory}\n"
        "ports: {model: brain, memory: diary}\n"
    )

    async def logic(agent: Agent) -> None:
        session = await open_session(agent, str(path))
        assert (await session.turn("hi")).text == "hello"

    events = recorded(tmp_path / "home", logic)
    assert "harness.plugins" in [event.name for event in events if isinstance(event, CallStarted)]
